"""The people who browse the shop: three with a browser, two with curl, three programs on an HTTP library.

Each visitor is a function that runs in a thread of its own, with its own seeded think times. None asks for a connection
to be closed; how long connections live is left to the clients, as on any other day.
"""

import json
import random
import subprocess
import time

import requests

from app import USERS
from build_site import PRODUCTS

HOST = "shop.example"


class Pace:
    """Think times: mostly short, now and then long, the same again for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def think(self, mean=1.0):
        time.sleep(1.4 * mean * min(2.5, self.random.lognormvariate(0, 0.5)))

    def pick(self, count):
        return [product["slug"] for product in self.random.sample(PRODUCTS, count)]


def log_in(tab, user, pace, wrong_first=False):
    tab.open(f"http://{HOST}/login")
    if wrong_first:
        tab.type("input[name=user]", user)
        tab.type("input[name=password]", "forgotten")
        tab.submit("#login")
        pace.think()
    tab.type("input[name=user]", user)
    pace.think(0.4)
    tab.type("input[name=password]", USERS[user])
    tab.submit("#login")


def buyer_with_browser(tab, seed, user):
    """Looks around, fills a cart, changes it, logs in, orders, looks the order up."""
    pace = Pace(seed)
    tab.open(f"http://{HOST}/")
    pace.think()
    for slug in pace.pick(3):
        if not tab.evaluate(f"!!document.querySelector('a.card[href=\"/products/{slug}\"]')"):
            tab.follow("a.logo")
            pace.think(0.6)
        tab.follow(f'a.card[href="/products/{slug}"]')
        pace.think()
        tab.click("#add")
        pace.think(0.5)
    tab.follow("#to-cart")
    pace.think(0.6)
    tab.click("button.more")
    pace.think(0.5)
    tab.click("tr:last-child button.more")
    pace.think(0.5)
    tab.click("button.remove")
    pace.think(0.5)
    log_in(tab, user, pace, wrong_first=seed % 2 == 0)
    pace.think(0.6)
    tab.follow("#to-cart")
    tab.click("#order")
    pace.think()
    tab.follow("#to-account")
    tab.click("button.open")
    pace.think(0.6)


def reader_with_browser(tab, seed):
    """Searches, follows the sale and an old link, reloads, and buys nothing."""
    pace = Pace(seed)
    tab.open(f"http://{HOST}/shop")
    pace.think()
    for words in ("glaze", "leaf"):
        tab.type("#search input", words)
        tab.submit("#search")
        pace.think()
        tab.follow("a.card")
        pace.think()
    tab.follow("#sale")
    pace.think()
    tab.reload()
    pace.think()
    tab.open(f"http://{HOST}/products/chipped-vase")
    pace.think()
    tab.follow("a.logo")
    pace.think()
    tab.reload()
    pace.think(0.6)
    tab.click("#to-cart")
    pace.think(0.6)


def curl(port, *arguments):
    """One curl process: one connection, unless curl decides otherwise. Returns what it printed."""
    done = subprocess.run(
        ["curl", "-q", "--silent", "--show-error", "--max-time", "60", "--connect-to", f"{HOST}:80:127.0.0.1:{port}",
         "--noproxy", "*", *arguments], check=True, capture_output=True)
    return done.stdout


def to_nowhere(paths):
    return [part for path in paths for part in (f"http://{HOST}{path}", "-o", "/dev/null")]


def catalogue_with_curl(port, seed):
    """A price-comparison job: pages, then details, then pictures, at a steady rate on few connections."""
    pace = Pace(seed)
    slugs = [product["slug"] for product in PRODUCTS]
    curl(port, "--rate", "4/s", *to_nowhere(["/robots.txt", "/", "/search?tag=tea", "/api/products"]))
    pace.think()
    curl(port, "--rate", "5/s", "--compressed", *to_nowhere([f"/products/{slug}" for slug in slugs]))
    pace.think()
    curl(port, "--rate", "6/s", *to_nowhere([f"/api/products/{slug}" for slug in slugs]))
    pace.think()
    curl(port, "--rate", "3/s", "--head", *to_nowhere([f"/images/{slug}.png" for slug in slugs[:3]]))
    pace.think()
    curl(port, "--rate", "3/s", "--location", *to_nowhere(["/sale", "/shop", "/old-catalogue.pdf"]))


def buyer_with_curl(port, seed, user, jar):
    """Somebody's script: logs in, fills a cart in one go, orders, reads the order back."""
    pace = Pace(seed)
    shop = f"http://{HOST}"
    send = ["--header", "Content-Type: application/json", "--data"]
    for _ in range(2):
        curl(port, "--cookie-jar", jar, "--data-urlencode", f"user={user}", "--data-urlencode",
             f"password={USERS[user]}", "--location", f"{shop}/login", "-o", "/dev/null")
        pace.think()
        first, second = pace.pick(2)
        cart = json.loads(curl(port, *send, "{}", f"{shop}/api/carts"))["id"]
        items = f"{shop}/api/carts/{cart}/items"
        nowhere = ["-o", "/dev/null"]
        again = ["--next", "--silent", "--noproxy", "*", "--connect-to", f"{HOST}:80:127.0.0.1:{port}"]
        curl(port, "--rate", "2/s", *nowhere, *send, json.dumps({"slug": first, "quantity": 2}), items,
             *again, *nowhere, *send, json.dumps({"slug": second}), items,
             *again, *nowhere, "--request", "PUT", *send, '{"quantity": 4}', f"{items}/{first}",
             *again, *nowhere, "--request", "DELETE", f"{items}/{second}",
             *again, *nowhere, f"{shop}/api/carts/{cart}")
        pace.think(0.5)
        order = json.loads(curl(port, "--cookie", jar, *send, json.dumps({"cart": cart}), f"{shop}/api/orders"))
        curl(port, "--rate", "2/s", "--compressed", "--cookie", jar,
             *to_nowhere([f"/api/orders/{order['id']}", "/api/orders"]))
        pace.think(2.0)


def buyer_with_library(port, seed, user):
    """A mobile application's back end: JSON only, a bearer token, one keep-alive session, entity tags remembered."""
    pace = Pace(seed)
    session = requests.Session()
    session.trust_env = False
    session.headers["Host"] = HOST
    tags = {}

    def call(method, path, **options):
        fields = {"If-None-Match": tags[path]} if method == "GET" and path in tags else {}
        answer = session.request(method, f"http://127.0.0.1:{port}{path}", headers=fields, timeout=20, **options)
        if "ETag" in answer.headers:
            tags[path] = answer.headers["ETag"]
        return answer

    call("GET", "/api/products")
    login = call("POST", "/api/login", json={"user": user, "password": USERS[user]}).json()
    session.headers["Authorization"] = "Bearer " + login["token"]
    session.cookies.clear()
    for _ in range(4):
        pace.think(0.7)
        slugs = pace.pick(3)
        cart = "/api/carts/" + call("POST", "/api/carts", json={}).json()["id"]
        for slug in slugs:
            call("GET", f"/api/products/{slug}")
            call("GET", f"/api/products/{slug}/reviews")
            pace.think(0.4)
            call("POST", f"{cart}/items", json={"slug": slug})
        pace.think(0.4)
        call("PUT", f"{cart}/items/{slugs[0]}", json={"quantity": pace.random.randint(2, 6)})
        call("DELETE", f"{cart}/items/{slugs[1]}")
        call("GET", cart)
        pace.think(0.5)
        order = call("POST", "/api/orders", json={"cart": cart.rsplit("/", 1)[1]}).json()
        call("GET", "/api/orders/" + order["id"])
        call("GET", "/api/orders")
    call("POST", "/api/orders", json={"cart": cart.rsplit("/", 1)[1]})
    call("GET", "/api/products/blue-elephant")
    call("POST", "/api/logout", json={})
