"""Builds the shop's document root: the pages from their layout, and the images, which are drawn here.

The same input gives the same bytes, so two recordings serve the same site.
"""

import colorsys
import html
import json
import math
import pathlib
import random
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent
PRODUCTS = json.loads((HERE / "products.json").read_text())


def png(width, height, rows):
    """A PNG of `rows`, each a bytes of RGB triples."""

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    raw = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def colour(hue, saturation, lightness):
    red, green, blue = colorsys.hls_to_rgb(hue / 360, lightness, saturation)
    return bytes((int(red * 255), int(green * 255), int(blue * 255)))


def inside_vessel(x, y, kind):
    """Whether the point (both coordinates -1..1, y downwards) lies in the outline of one of our pots."""
    if kind == "plates":
        return (x / 0.8) ** 2 + (y / 0.55) ** 2 < 1
    if kind == "bowls":
        return -0.2 < y < 0.6 and abs(x) < 0.8 * math.sqrt(max(0.0, 1 - ((y + 0.2) / 0.85) ** 2))
    if kind == "teapots":
        spout = abs(y + 0.05 - (x - 0.5) * -0.9) < 0.09 and 0.4 < x < 0.85
        return (x / 0.5) ** 2 + ((y - 0.1) / 0.5) ** 2 < 1 or spout or x * x + (y + 0.45) ** 2 < 0.01
    handle = 0.17 < math.hypot(x - 0.42, y - 0.05) < 0.28 and x > 0.4
    return (abs(x) < 0.42 - 0.06 * y and abs(y) < 0.6) or handle


def picture(product, width=320, height=240):
    """One pot in front of a wall, with a little grain in the glaze."""
    grain = random.Random(product["slug"])
    wall = [colour(product["hue"], 0.15, 0.92 - 0.12 * y / height) for y in range(height)]
    glaze = [colour(product["hue"], 0.45, 0.30 + 0.02 * shade) for shade in range(16)]
    rows = []
    for y in range(height):
        row = bytearray()
        for x in range(width):
            u, v = 2.2 * x / width - 1.1, 2.2 * y / height - 1.1
            if inside_vessel(u, v, product["tag"]):
                shade = 9 - 7 * u + 2 * math.sin(9 * v + 3 * u) + (grain.random() < 0.12)
                row += glaze[max(0, min(15, int(shade)))]
            else:
                row += wall[y]
        rows.append(bytes(row))
    return png(width, height, rows)


def hero(width=960, height=240):
    """A shelf with one pot of each kind."""
    rows = []
    shelf = colour(30, 0.35, 0.35)
    for y in range(height):
        row = bytearray()
        for x in range(width):
            which, place = divmod(x, width // 6)
            product = PRODUCTS[which * 2]
            u, v = 2.2 * place / (width // 6) - 1.1, 2.6 * y / height - 1.5
            if y > height * 5 // 6:
                row += shelf
            elif inside_vessel(u, v, product["tag"]):
                row += colour(product["hue"], 0.4, round(0.5 - 0.2 * u, 2))
            else:
                row += colour(40, 0.3, round(0.95 - 0.15 * y / height, 2))
        rows.append(bytes(row))
    return png(width, height, rows)


LOGO = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 180 40">
  <path d="M8 10h20l-3 22h-14z" fill="#a4512f"/>
  <path d="M28 14q10 0 8 8t-10 6" fill="none" stroke="#a4512f" stroke-width="3"/>
  <path d="M18 8q2-8 10-7q-1 8-10 7z" fill="#4d6b3c"/>
  <text x="46" y="27" font-family="Georgia, serif" font-size="20" fill="#2b2a27">Kiln and Leaf</text>
</svg>
"""
FAVICON = LOGO.replace("0 0 180 40", "0 0 40 40").replace(
    LOGO[LOGO.index("  <text"):LOGO.index("</svg>")], "")


def page(layout, main, **words):
    text = layout.replace("{{main}}", main.rstrip("\n"))
    for word, value in {"slug": "", **words}.items():
        text = text.replace("{{" + word + "}}", html.escape(value))
    return text


def build(root):
    """Writes the whole document root under `root`, which must not exist yet."""
    site = HERE / "site"
    layout = (site / "layout.html").read_text()
    (root / "images").mkdir(parents=True)
    (root / "products").mkdir()
    for name, title in [("home", "Pots and tea"), ("search", "Search"), ("cart", "Cart"), ("login", "Log in"),
                        ("account", "Account"), ("404", "Not found")]:
        main = (site / f"{name}.html").read_text()
        (root / f"{name}.html").write_text(page(layout, main, title=title, page=name))
    main = (site / "product.html").read_text()
    for product in PRODUCTS:
        slug = product["slug"]
        (root / "products" / f"{slug}.html").write_text(
            page(layout, main, title=product["name"], page="product", slug=slug,
                 name=product["name"], text=product["text"]))
        (root / "images" / f"{slug}.png").write_bytes(picture(product))
    for name in ("shop.css", "shop.js"):
        (root / name).write_bytes((site / name).read_bytes())
    (root / "robots.txt").write_text("User-agent: *\nAllow: /\n")
    (root / "images" / "hero.png").write_bytes(hero())
    (root / "images" / "logo.svg").write_text(LOGO)
    (root / "images" / "favicon.svg").write_text(FAVICON)
