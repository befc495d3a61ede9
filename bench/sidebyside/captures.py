"""A capture file of HTTP traffic, made here so that none need be kept: JSON answers of 1 KiB on keep-alive connections,
the same bytes for the same arguments. 200,000 exchanges are 285 MB and take some ten seconds."""

import random
import struct

WORDS = ("amber basin cedar delta ember fjord grove haven inlet jetty kiosk ledge maple north ocean pearl quartz ridge "
         "slate timber umber valley willow xenon yonder zephyr copper linen marble walnut brass cotton velvet").split()
CLIENT, SERVER = 0x0A000001, 0x0A000002
SYN, ACK, PUSH_ACK, SYN_ACK, FIN_ACK = 0x02, 0x10, 0x18, 0x12, 0x11
BODY_BYTES = 1024
STEP_NS = 7_000


def body(numbers, exchange):
    """1 KiB of JSON as an API gives it: names that repeat, values that do not."""
    items = []
    text = f'{{"order":{exchange},"customer":"c-{numbers.getrandbits(40):010x}","items":['
    while True:
        item = (f'{{"sku":"{numbers.getrandbits(32):08x}","name":"{numbers.choice(WORDS)} {numbers.choice(WORDS)}",'
                f'"price":{numbers.randrange(100, 99999) / 100},"stock":{numbers.randrange(500)}}}')
        if len(text) + sum(map(len, items)) + len(items) + len(item) + 24 > BODY_BYTES:
            break
        items.append(item)
    text += ",".join(items) + '],"note":"'
    return (text + "x" * (BODY_BYTES - len(text) - 2) + '"}').encode()


class Writer:
    def __init__(self, file):
        self.file = file
        self.now = 1_700_000_000_000_000_000
        # Little-endian, nanoseconds, Ethernet.
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))

    def segment(self, from_client, port, seq, ack, flags, data=b""):
        ends = (port, 80) if from_client else (80, port)
        addresses = (CLIENT, SERVER) if from_client else (SERVER, CLIENT)
        tcp = struct.pack(">HHIIBBHHH", *ends, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 65535, 0, 0)
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, *addresses)
        frame = b"\x02" * 12 + b"\x08\x00" + ip + tcp + data
        self.now += STEP_NS
        self.file.write(struct.pack("<IIII", self.now // 10**9, self.now % 10**9, len(frame), len(frame)) + frame)


def write_capture(path, exchanges, connections=200, seed=1):
    numbers = random.Random(seed)
    with open(path, "wb", buffering=1 << 20) as file:
        wire = Writer(file)
        places = [[1000 * i + 1, 7000 * i + 1] for i in range(connections)]
        sessions = [f"{numbers.getrandbits(128):032x}" for _ in range(connections)]
        for i, (client, server) in enumerate(places):
            wire.segment(True, 20000 + i, client - 1, 0, SYN)
            wire.segment(False, 20000 + i, server - 1, client, SYN_ACK)
            wire.segment(True, 20000 + i, client, server, ACK)
        for exchange in range(exchanges):
            i = exchange % connections
            place = places[i]
            request = (f"GET /api/items/{exchange % 5000}?page={exchange % 97} HTTP/1.1\r\nHost: shop.example\r\n"
                       f"User-Agent: bench/1.0\r\nAccept: application/json\r\nCookie: sid={sessions[i]}\r\n"
                       f"X-Request-Id: {exchange:032x}\r\n\r\n").encode()
            content = body(numbers, exchange)
            answer = (f"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(content)}\r\n\r\n").encode() + content
            wire.segment(True, 20000 + i, place[0], place[1], PUSH_ACK, request)
            place[0] += len(request)
            wire.segment(False, 20000 + i, place[1], place[0], PUSH_ACK, answer)
            place[1] += len(answer)
        for i, (client, server) in enumerate(places):
            wire.segment(True, 20000 + i, client, server, FIN_ACK)
            wire.segment(False, 20000 + i, server, client + 1, FIN_ACK)
            wire.segment(True, 20000 + i, client + 1, server + 1, ACK)
