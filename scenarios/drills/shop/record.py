#!/usr/bin/env python3
"""Records ../shop.pcap: real clients browse the shop on loopback while tcpdump listens.

Usage: record.py [--port N] [OUT.pcap]

Needs nginx, tcpdump (as root, or with the right to capture), chromium, curl and python3-requests. It uses a temporary
folder and ends what it started. Make the expected file afterwards with oracle.py.
"""

import argparse
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import build_site
import visitors
from chromium import Chromium

HERE = pathlib.Path(__file__).resolve().parent
PORTS = (8080, 8088, 8888)


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, name):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if process.poll() is not None:
            sys.exit(f"record: {name} ended before it listened; run it by hand to see why")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"record: {name} does not listen on port {port}")


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def start_nginx(work, port, app_port):
    conf = (HERE / "nginx.conf.in").read_text()
    for name, value in {"DIR": work, "PORT": port, "APP_PORT": app_port}.items():
        conf = conf.replace(f"@{name}@", str(value))
    if os.geteuid() == 0:
        conf = "user root;\n" + conf  # so that its worker can read the temporary folder
    (work / "nginx.conf").write_text(conf)
    return subprocess.Popen(["nginx", "-p", work, "-e", work / "nginx-error.log", "-c", work / "nginx.conf"])


def start_tcpdump(port, out):
    command = ["tcpdump", "-i", "lo", "-s", "0", "-B", "16384", "-U", "-w", out, f"tcp port {port}"]
    if os.geteuid() == 0:
        command[1:1] = ["-Z", "root"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "listening on" in line:
            return process
    sys.exit("record: tcpdump could not start; it needs the right to capture on lo")


def browse(port, browser, jar):
    """Lets everybody loose, the later ones arriving while the first are busy."""
    failures = []

    def guarded(delay, visit, *arguments):
        try:
            time.sleep(delay)
            visit(*arguments)
        except Exception as failure:  # whatever it was, this recording is not to be kept
            failures.append(f"{visit.__name__}: {failure}")

    plan = [
        (0.0, visitors.buyer_with_browser, browser.visitor(), 1, "ada"),
        (1.5, visitors.reader_with_browser, browser.visitor(), 2),
        (3.0, visitors.buyer_with_browser, browser.visitor(), 4, "grace"),
        (0.5, visitors.catalogue_with_curl, port, 5),
        (2.0, visitors.buyer_with_curl, port, 6, "linus", jar),
        (1.0, visitors.buyer_with_library, port, 7, "margaret"),
        (4.0, visitors.buyer_with_library, port, 8, "barbara"),
        (6.0, visitors.buyer_with_library, port, 9, "edsger"),
    ]
    threads = [threading.Thread(target=guarded, args=visit, daemon=True) for visit in plan]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit("record: nothing kept, a visitor failed\n  " + "\n  ".join(failures))


def main():
    arguments = argparse.ArgumentParser(description="Records the shop's traffic.")
    arguments.add_argument("--port", type=int, help="nginx's port (8080 if free)")
    arguments.add_argument("out", nargs="?", type=pathlib.Path, default=HERE.parent / "shop.pcap")
    options = arguments.parse_args()
    for program in ("nginx", "tcpdump", "chromium", "curl"):
        if not shutil.which(program):
            sys.exit(f"record: {program} is missing; install the Debian package of that name")
    port = options.port or next((port for port in PORTS if is_free(port)), None) or free_port()
    if not is_free(port):
        sys.exit(f"record: port {port} is in use; choose another with --port")

    work = pathlib.Path(tempfile.mkdtemp(prefix="shop-"))
    started = []
    browser = None
    try:
        build_site.build(work / "html")
        app_port = free_port()
        started.append(subprocess.Popen([sys.executable, HERE / "app.py", str(app_port)]))
        wait_for_port(app_port, started[-1], "the shop's application")
        started.append(start_nginx(work, port, app_port))
        wait_for_port(port, started[-1], "nginx")
        time.sleep(0.2)  # the probe's connection has gone before the capture begins
        tcpdump = start_tcpdump(port, work / "shop.pcap")
        started.append(tcpdump)
        browser = Chromium("chromium", work / "profile",
                           f"MAP {visitors.HOST}:80 127.0.0.1:{port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        browse(port, browser, work / "cookies")
        browser.close()
        browser = None
        time.sleep(0.5)  # the last connections close
        tcpdump.send_signal(signal.SIGINT)
        report = tcpdump.communicate(timeout=10)[1]
        print(report.strip())
        if "\n0 packets dropped by kernel" not in report:
            sys.exit("record: nothing kept, the kernel dropped packets")
        shutil.move(work / "shop.pcap", options.out)
        options.out.chmod(0o644)
        print(f"{options.out.name}: {options.out.stat().st_size} bytes from port {port}")
    finally:
        if browser:
            browser.close()
        for process in reversed(started):
            stop(process)
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
