"""What drives a proxy: wrk as fast as it can, h2load at a constant rate, and clients that do nothing."""

import re
import resource
import socket
import subprocess

from .processes import Failed


def full_speed(port, path, connections, seconds):
    """One bounded run of wrk. Returns what it counted."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}{path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30)
    counted = re.search(r"(\d+) requests in", done.stdout)
    if done.returncode != 0 or not counted or int(counted.group(1)) == 0:
        raise Failed(f"wrk got no answers: {(done.stdout + done.stderr).strip()}")
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    errors = re.search(r"Socket errors: (.*)", done.stdout)
    if bad or errors:
        raise Failed("not every request was answered with 200, so the figures would mean nothing: "
                     + (f"{bad.group(1)} other statuses" if bad else f"socket errors {errors.group(1)}"))
    return {"requests": int(counted.group(1)),
            "requests_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout).group(1))}


def constant_rate(port, path, connections, seconds, rate, log):
    """So many requests a second over all connections, whatever the answers do. Latencies in microseconds."""
    log.unlink(missing_ok=True)
    command = ["h2load", "--h1", "-t1", f"-c{connections}", f"--rps={rate / connections:.3f}", f"-D{seconds}",
               f"--log-file={log}", f"http://127.0.0.1:{port}{path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30)
    rows = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    if done.returncode != 0 or not rows:
        raise Failed(f"h2load got no answers: {(done.stdout + done.stderr).strip()[-400:]}")
    others = sum(row[1] != "200" for row in rows)
    if others:
        raise Failed(f"{others} of {len(rows)} requests were not answered with 200")
    took = sorted(int(row[2]) for row in rows)
    return {"requests": len(took), "requests_per_second": len(took) / seconds,
            "p50_us": took[len(took) // 2], "p99_us": took[len(took) * 99 // 100], "max_us": took[-1]}


class IdleClients:
    """Keep-alive clients that have asked once and then stay."""

    def __init__(self, count):
        self.count = count
        self.sockets = []
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = count + 100
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise Failed(f"{count} clients need {wanted} descriptors, and the limit (ulimit -Hn) is {hard}: "
                         "raise it, or ask for fewer with --idle-clients")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else hard, hard))

    def ask(self, port):
        for _ in range(self.count):
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            client.sendall(b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n")
            answer = b""
            while b"\r\n\r\n" not in answer or len(answer.partition(b"\r\n\r\n")[2]) < 1024:
                piece = client.recv(65536)
                if not piece:
                    raise Failed("an idle client's connection was closed instead of answered")
                answer += piece
            if not answer.startswith(b"HTTP/1.1 200"):
                raise Failed(f"an idle client was answered {answer[:40]!r}")
            self.sockets.append(client)

    def leave(self):
        for client in self.sockets:
            client.close()
        self.sockets.clear()
