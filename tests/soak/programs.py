"""The programs of a soak: the gateway, the origins behind it and the faults between them.

    clients ──► gateway ──► chaos (one link an endpoint, faults by seed) ──► origins, killed and started again
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time


class Failed(Exception):
    """Something outside the soak is not as it must be; the text says what to do."""


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


class Program:
    """One started program; what it says goes to NAME.log in the work folder."""

    def __init__(self, name, command, port, work):
        self.name, self.command, self.port, self.work = name, command, port, work
        self.process = None
        self.start()

    def start(self):
        with open(self.work / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, cwd=self.work)

    def wait_until_it_listens(self):
        until = time.monotonic() + 20
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Failed(f"{self.name} does not listen on 127.0.0.1:{self.port}; it said: {self.said()}")

    def said(self):
        return (self.work / f"{self.name}.log").read_text(errors="replace").strip()[-600:]

    def running(self):
        return self.process.poll() is None

    def kill(self, how=signal.SIGKILL):
        if self.running():
            self.process.send_signal(how)
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def drain(self, limit):
        """Seconds until it had ended after SIGTERM, and its exit status; None if it had to be killed."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = None
        return time.monotonic() - began, status

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_kib(self):
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") // 1024

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


def faults(random, seconds, calm):
    """Random faults on random links, one after another or over each other, until `calm` before the end."""
    kinds = [
        lambda: {"kind": "latency", "to_gateway": {"p50": "20ms", "p99": f"{random.randint(200, 1500)}ms"}},
        lambda: {"kind": "refuse"},
        lambda: {"kind": "reset_all"},
        lambda: {"kind": "reset_idle", "after": f"{random.randint(50, 500)}ms"},
        lambda: {"kind": "reset_on_request", "request_from": random.randint(1, 4),
                 "moment": random.choice(["before_origin", "after_origin"]), "share": f"{random.randint(2, 30)}%"},
        lambda: {"kind": "response_header", "bytes": random.choice(["4KiB", "40KiB"]), "share": "5%"},
    ]
    planned, at = [], 2.0
    while at < seconds - calm - 2:
        lasts = min(random.uniform(1, 6), seconds - calm - at)
        fault = {"name": f"fault-{len(planned)}", "at": f"{int(at * 1000)}ms", "for": f"{int(lasts * 1000)}ms",
                 "target": {"endpoint": f"shop-{random.randint(1, 4)}"}}
        planned.append(fault | random.choice(kinds)())
        at += random.uniform(0.5, 5)
    return planned


class World:
    """Everything but the clients. JSON is YAML, so that is what the configurations are written in."""

    def __init__(self, options, work, random, calm):
        self.work, self.started = work, []
        gatedrill = options.gatedrill
        self.port, *ports = free_ports(9)
        links, self.origin_ports = ports[:4], ports[4:]
        try:
            self.origins = [self._origin(gatedrill, index, port) for index, port in enumerate(self.origin_ports[:3], 1)]
            self.large = self._origin(gatedrill, 4, self.origin_ports[3], body="1MiB")
            chaos = {"seed": options.seed, "faults": faults(random, options.seconds, calm),
                     "links": {f"shop-{index}": {"listen": f"127.0.0.1:{link}", "to": f"127.0.0.1:{port}"}
                               for index, (link, port) in enumerate(zip(links, self.origin_ports), 1)}}
            self.chaos = self._start("chaos", [gatedrill, "chaos", "-c", self._write("chaos", chaos)], links[0])
            endpoints = [{"address": f"127.0.0.1:{link}", "name": f"shop-{index}"}
                         for index, link in enumerate(links, 1)]
            self.gateway = self._start(
                "gateway", [gatedrill, "gateway", "-c", self._write("gateway", self._gateway(endpoints, options.threads)),
                            "-o", work / "run.db"], self.port)
        except BaseException:
            self.stop()
            raise

    def _write(self, name, config):
        path = self.work / f"{name}.yaml"
        path.write_text(json.dumps(config, indent=1))
        return path

    def _start(self, name, command, port):
        program = Program(name, [str(word) for word in command], port, self.work)
        self.started.append(program)
        program.wait_until_it_listens()
        return program

    def _origin(self, gatedrill, index, port, body="1KiB"):
        config = {"origins": {"shop": {"listen": f"127.0.0.1:{port}", "latency": {"p50": "2ms", "p99": "20ms"},
                                       "answers": {"body_bytes": body}, "workers": 200, "keep_alive": "10s"}}}
        return self._start(f"origin-{index}",
                           [gatedrill, "origin", "-c", self._write(f"origin-{index}", config)], port)

    def _gateway(self, endpoints, threads):
        pool = {"idle_timeout": "2s", "max_idle": 32}
        return {
            "listen": f"127.0.0.1:{self.port}",
            "threads": threads,
            "sample_ok": 1,
            "access_log": str(self.work / "access.log"),
            "drain_timeout": "5s",
            "client": {"header_timeout": "2s", "body_timeout": "2s", "max_requests": 500, "max_body": "256KiB"},
            "timeouts": {"connect": "500ms", "response": "1s", "idle": "1s", "total": "3s"},
            "retry": {"max_retries": 2, "on_reset": True},
            "upstreams": {
                "shop": {"endpoints": endpoints[:3], "pool": pool, "breaker": {"open": "1s", "open_max": "2s"},
                         "health": {"path": "/health", "interval": "1s", "timeout": "500ms"}},
                "large": {"endpoints": endpoints[3:], "pool": pool, "health": "off"}},
            "routes": [{"match": {"path_prefix": "/large"}, "upstream": "large"},
                       {"match": {"path_prefix": "/"}, "upstream": "shop"}],
        }

    def stop(self):
        for program in reversed(self.started):
            program.kill(signal.SIGTERM)
