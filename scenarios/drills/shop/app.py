"""The shop's dynamic half: products, search, login, carts and orders, kept in memory, JSON over HTTP/1.1.

Usage: app.py PORT. It listens on loopback behind nginx and never asks for its own connections to be closed.
All names, passwords and tokens in here are invented; tokens come from a fixed seed.
"""

import hashlib
import http.server
import json
import random
import re
import sys
import threading
import urllib.parse

from build_site import PRODUCTS

USERS = {"ada": "plain-clay-7", "grace": "blue-glaze-3", "linus": "wheel-and-fire", "margaret": "slow-tea-9",
         "barbara": "thrown-by-hand", "edsger": "no-gloss-please"}
REVIEWS = ["Better than on the picture.", "My second one. The first broke, my fault.",
           "Smaller than I thought, but I like it.", "It came well packed and a day early.",
           "The colour is a little darker than shown.", "A present, and it was a success."]


class Shop:
    """All that the shop remembers. Calls come from many threads; `lock` guards every one."""

    def __init__(self):
        self.lock = threading.Lock()
        self.random = random.Random(2024)
        self.by_slug = {product["slug"]: product for product in PRODUCTS}
        self.sessions = {}
        self.carts = {}
        self.orders = {}

    def open_session(self, user, password):
        if USERS.get(user) != password:
            return None
        token = f"{self.random.getrandbits(128):032x}"
        self.sessions[token] = user
        return token

    def new_cart(self):
        cart = {"id": f"c-{self.random.randrange(16 ** 8):08x}", "items": []}
        self.carts[cart["id"]] = cart
        return cart

    def new_order(self, user, cart):
        order = {"id": f"KL-{10001 + len(self.orders)}", "user": user, "items": list(cart["items"]),
                 "total": sum(item["price"] * item["quantity"] for item in cart["items"]), "state": "accepted"}
        self.orders[order["id"]] = order
        cart["items"] = []
        return order


def public(product):
    return {key: value for key, value in product.items() if key not in ("text", "hue")}


def item_of(cart, slug):
    return next((item for item in cart["items"] if item["slug"] == slug), None)


# Each handler answers (status, data or None, extra header fields).

def get_products(shop, request):
    tag = request.query.get("tag")
    return 200, {"products": [public(p) for p in PRODUCTS if tag in (None, p["tag"])]}, {}


def get_product(shop, request, slug):
    product = shop.by_slug.get(slug)
    if not product:
        return 404, {"error": "no such product"}, {}
    return 200, product, {"Cache-Control": "no-cache"}


def get_reviews(shop, request, slug):
    if slug not in shop.by_slug:
        return 404, {"error": "no such product"}, {}
    pick = random.Random(slug)
    reviews = [{"stars": pick.randint(3, 5), "text": text} for text in pick.sample(REVIEWS, 3)]
    return 200, {"slug": slug, "reviews": reviews}, {}


def get_search(shop, request):
    words = request.query.get("q", "").lower().split()
    found = [public(p) for p in PRODUCTS
             if all(word in (p["name"] + " " + p["text"]).lower() for word in words)]
    return 200, {"q": " ".join(words), "products": found}, {}


def get_session(shop, request):
    return 200, {"user": request.user}, {"Cache-Control": "no-store"}


def cookie(token):
    return {"Set-Cookie": f"sid={token}; Path=/; HttpOnly; SameSite=Lax"}


def post_login(shop, request):
    token = shop.open_session(request.data.get("user"), request.data.get("password"))
    if not token:
        return 401, {"error": "that name and password do not match"}, {}
    return 200, {"user": shop.sessions[token], "token": token}, cookie(token)


def post_form_login(shop, request):
    token = shop.open_session(request.form.get("user"), request.form.get("password"))
    if not token:
        return 303, None, {"Location": "/login#wrong"}
    return 303, None, {"Location": "/account", **cookie(token)}


def post_logout(shop, request):
    shop.sessions.pop(request.token, None)
    return 204, None, {"Set-Cookie": "sid=; Path=/; Max-Age=0"}


def post_carts(shop, request):
    cart = shop.new_cart()
    return 201, cart, {"Location": f"/api/carts/{cart['id']}"}


def with_cart(handler):
    def find(shop, request, cart_id, *rest):
        cart = shop.carts.get(cart_id)
        return handler(shop, request, cart, *rest) if cart else (404, {"error": "no such cart"}, {})

    return find


@with_cart
def get_cart(shop, request, cart):
    return 200, cart, {"Cache-Control": "no-store"}


@with_cart
def post_item(shop, request, cart):
    product = shop.by_slug.get(request.data.get("slug"))
    if not product:
        return 422, {"error": "no such product"}, {}
    quantity = int(request.data.get("quantity", 1))
    item = item_of(cart, product["slug"])
    if item:
        item["quantity"] += quantity
    else:
        cart["items"].append({key: product[key] for key in ("slug", "name", "price")} | {"quantity": quantity})
    return 201, cart, {}


@with_cart
def put_item(shop, request, cart, slug):
    item = item_of(cart, slug)
    if not item:
        return 404, {"error": "not in this cart"}, {}
    item["quantity"] = int(request.data["quantity"])
    return 200, cart, {}


@with_cart
def delete_item(shop, request, cart, slug):
    cart["items"] = [item for item in cart["items"] if item["slug"] != slug]
    return 204, None, {}


def post_orders(shop, request):
    if not request.user:
        return 401, {"error": "log in first"}, {}
    cart = shop.carts.get(request.data.get("cart"))
    if not cart or not cart["items"]:
        return 409, {"error": "the cart is empty"}, {}
    order = shop.new_order(request.user, cart)
    return 201, order, {"Location": f"/api/orders/{order['id']}"}


def get_orders(shop, request):
    if not request.user:
        return 401, {"error": "log in first"}, {}
    mine = [order for order in shop.orders.values() if order["user"] == request.user]
    return 200, {"orders": [{key: order[key] for key in ("id", "total", "state")} for order in mine]}, {
        "Cache-Control": "no-store"}


def get_order(shop, request, order_id):
    order = shop.orders.get(order_id)
    if not order or order["user"] != request.user:
        return 404, {"error": "no such order"}, {}
    return 200, order, {}


def post_event(shop, request):
    return 204, None, {}


ROUTES = [(method, re.compile(pattern), handler) for method, pattern, handler in [
    ("GET", r"/api/products", get_products),
    ("GET", r"/api/products/([\w-]+)", get_product),
    ("GET", r"/api/products/([\w-]+)/reviews", get_reviews),
    ("GET", r"/api/search", get_search),
    ("GET", r"/api/session", get_session),
    ("POST", r"/api/login", post_login),
    ("POST", r"/api/form-login", post_form_login),
    ("POST", r"/api/logout", post_logout),
    ("POST", r"/api/carts", post_carts),
    ("GET", r"/api/carts/([\w-]+)", get_cart),
    ("POST", r"/api/carts/([\w-]+)/items", post_item),
    ("PUT", r"/api/carts/([\w-]+)/items/([\w-]+)", put_item),
    ("DELETE", r"/api/carts/([\w-]+)/items/([\w-]+)", delete_item),
    ("POST", r"/api/orders", post_orders),
    ("GET", r"/api/orders", get_orders),
    ("GET", r"/api/orders/([\w-]+)", get_order),
    ("POST", r"/api/events", post_event),
]]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    shop = Shop()

    def answer(self):
        target = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(target.query))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        self.data = json.loads(body) if is_json and body else {}
        self.form = {} if is_json else dict(urllib.parse.parse_qsl(body.decode()))
        sid = re.search(r"\bsid=(\w+)", self.headers.get("Cookie", ""))
        bearer = re.fullmatch(r"Bearer (\w+)", self.headers.get("Authorization", ""))
        found = sid or bearer
        self.token = found.group(1) if found else None
        with self.shop.lock:
            self.user = self.shop.sessions.get(self.token)
            for method, pattern, handler in ROUTES:
                match = pattern.fullmatch(target.path)
                if match and method == self.command:
                    status, data, fields = handler(self.shop, self, *match.groups())
                    break
            else:
                status, data, fields = 404, {"error": "no such resource"}, {}
            payload = b"" if data is None else json.dumps(data).encode() + b"\n"
        self.reply(status, payload, fields)

    def reply(self, status, payload, fields):
        if status == 200 and "no-cache" in fields.get("Cache-Control", ""):
            tag = hashlib.sha1(payload).hexdigest()[:16]
            fields = {"ETag": f'"{tag}"', **fields}
            if tag in self.headers.get("If-None-Match", ""):
                status, payload = 304, b""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if payload:
            self.send_header("Content-Type", "application/json")
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(payload)))
        # One write for head and body: two would meet delayed acknowledgements.
        self._headers_buffer.append(b"\r\n" + payload)
        self.wfile.write(b"".join(self._headers_buffer))
        self._headers_buffer = []

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
