#!/usr/bin/env python3
"""Writes what tshark finds in a capture, one line per HTTP/1 message: the oracle that the capture tests compare with.

Usage: oracle.py CAPTURE > CAPTURE.expected.tsv      oracle.py --summary CAPTURE

Columns: seq (1.. in order of frame), frame (where tshark completes the message), time (of that frame), stream, src, sport,
dst, dport, proto, kind, method, host, uri, version, status, content_length, transfer_encoding, content_encoding (raw
header values), body_len, body_sha1 (after de-chunking and decompression), request_in (frame of the request that a
response answers). Empty means not present.
"""

import collections
import hashlib
import subprocess
import sys
import xml.etree.ElementTree

COLUMNS = ("seq frame time stream src sport dst dport proto kind method host uri version status content_length"
           " transfer_encoding content_encoding body_len body_sha1 request_in").split()
OPTIONS = ["ip.check_checksum:FALSE", "tcp.check_checksum:FALSE", "http.dechunk_body:TRUE",
           "http.decompress_body:TRUE", "http.desegment_body:TRUE"]


def shown(layer, name):
    """The first value of a field as text, empty without one."""
    return next((field.get("show", "") for field in layer.iter("field") if field.get("name") == name), "")


def first(layers, names):
    return next((value for layer in layers for name in names if (value := shown(layer, name))), "")


def body_of(layer):
    for field in layer.iter("field"):
        if field.get("name") == "http.file_data":
            return bytes.fromhex(field.get("value", ""))
    return None


def row_of(packet, http):
    general = {field.get("name"): field for field in packet.iter("field")}
    inner = list(packet.iter("proto"))[::-1]
    row = dict.fromkeys(COLUMNS, "")
    row |= {"frame": general["num"].get("show"), "time": general["timestamp"].get("value"), "proto": "h1",
            "stream": first(inner, ["tcp.stream"]), "src": first(inner, ["ip.src", "ipv6.src"]),
            "dst": first(inner, ["ip.dst", "ipv6.dst"]), "sport": first(inner, ["tcp.srcport"]),
            "dport": first(inner, ["tcp.dstport"])}
    row |= {"content_length": shown(http, "http.content_length_header"),
            "transfer_encoding": shown(http, "http.transfer_encoding"),
            "content_encoding": shown(http, "http.content_encoding")}
    if method := shown(http, "http.request.method"):
        row |= {"kind": "req", "method": method, "host": shown(http, "http.host"),
                "uri": shown(http, "http.request.uri"), "version": shown(http, "http.request.version")}
    else:
        row |= {"kind": "resp", "status": shown(http, "http.response.code"),
                "version": shown(http, "http.response.version"), "request_in": shown(http, "http.request_in")}
    if (body := body_of(http)) is not None:
        row |= {"body_len": str(len(body)), "body_sha1": hashlib.sha1(body).hexdigest() if body else ""}
    return row


def messages(capture):
    command = ["tshark", "-2", "-n", "-r", capture, "-Y", "http", "-T", "pdml"]
    for option in OPTIONS:
        command += ["-o", option]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tshark:
        rows = []
        for _, element in xml.etree.ElementTree.iterparse(tshark.stdout):
            if element.tag != "packet":
                continue
            for http in element.iter("proto"):
                if http.get("name") == "http" and (
                        shown(http, "http.request.method") or shown(http, "http.response.code")):
                    rows.append(row_of(element, http))
            element.clear()
    if tshark.returncode != 0:
        sys.exit(f"oracle: tshark could not read {capture}")
    for seq, row in enumerate(rows, 1):
        row["seq"] = str(seq)
    return rows


def count(rows, key):
    return collections.Counter(row[key] for row in rows if row[key]).most_common()


def summary(capture):
    rows = messages(capture)
    requests = {row["frame"]: row for row in rows if row["kind"] == "req"}
    responses = [row for row in rows if row["kind"] == "resp"]
    answers = collections.defaultdict(set)
    waits = []
    for row in responses:
        request = requests.get(row["request_in"])
        if request:
            answers[request["method"], request["uri"]].add((row["status"], row["body_sha1"]))
            waits.append(float(row["time"]) - float(request["time"]))
    print(f"requests {sum(row['kind'] == 'req' for row in rows)}, responses {len(responses)}, paired {len(waits)}, "
          f"connections with HTTP {len({row['stream'] for row in rows})}")
    print(f"from first to last message {float(rows[-1]['time']) - float(rows[0]['time']):.1f} s, "
          f"slowest response {max(waits) * 1000:.0f} ms, median {sorted(waits)[len(waits) // 2] * 1000:.1f} ms")
    print("methods", count(rows, "method"))
    print("statuses", count(rows, "status"))
    print("content codings", count(rows, "content_encoding"), "transfer codings", count(rows, "transfer_encoding"))
    print(f"{len(answers)} different method and target, {sum(len(kinds) > 1 for kinds in answers.values())} of them "
          "with more than one answer (status or body)")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--summary":
        summary(sys.argv[2])
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        print("\t".join(COLUMNS))
        for row in messages(sys.argv[1]):
            print("\t".join(row[column] for column in COLUMNS))
    else:
        sys.exit(__doc__.split("\n\n")[1])


if __name__ == "__main__":
    main()
