"""Started programs, and what they cost: processor time and memory of whole process trees, from /proc."""

import os
import pathlib
import signal
import socket
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """Something outside this program is not as it must be; the text says what to do."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_to_its_end(command, output):
    """What a command cost that ends by itself; its output goes to a file."""
    with open(output, "wb") as out:
        begun = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(f"{command[0]} ended with {process.returncode}; it said: {said.decode(errors='replace')[-600:]}")
    return {"user_s": usage.ru_utime, "kernel_s": usage.ru_stime, "total_s": usage.ru_utime + usage.ru_stime,
            "elapsed_s": elapsed, "rss_mb": usage.ru_maxrss / 1024}


def children_of():
    """Parent pid -> pids, of all processes there are."""
    tree = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            tree.setdefault(int(fields[1]), []).append(int(entry.name))
    return tree


def tree_of(pid):
    tree, found, waiting = children_of(), [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += tree.get(found[-1], [])
    return found


class Program:
    """One started program: a process tree that listens on `port`."""

    def __init__(self, name, command, port, work):
        self.name = name
        self.port = port
        self.log = work / f"{name}-{port}.out"
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT, cwd=work)
        self._wait_until_it_listens()
        self.pids = tree_of(self.process.pid)

    def _wait_until_it_listens(self):
        until = time.monotonic() + 10
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                time.sleep(0.2)  # workers that start beside the listener
                return
            except OSError:
                time.sleep(0.05)
        said = self.log.read_text(errors="replace").strip()[-600:]
        self.stop()
        raise Failed(f"{self.name} does not listen on 127.0.0.1:{self.port}; it said: {said or 'nothing'}")

    def processor_time(self):
        """(user, kernel) seconds of all its processes and threads, and of their ended children."""
        user = kernel = 0
        for pid in self.pids:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            user += int(fields[11]) + int(fields[13])
            kernel += int(fields[12]) + int(fields[14])
        return user / TICK, kernel / TICK

    def processor_time_when_quiet(self):
        """After the load: what was deferred (logs, rows) belongs to the requests that caused it."""
        until = time.monotonic() + 5
        time.sleep(0.4)
        now = self.processor_time()
        while time.monotonic() < until:
            time.sleep(0.3)
            before, now = now, self.processor_time()
            if now == before:
                break
        return now

    def memory(self):
        """Bytes of all its processes: resident, and with shared pages divided between who shares them."""
        sums = {"Rss:": 0, "Pss:": 0}
        for pid in self.pids:
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                words = line.split()
                if words[0] in sums:
                    sums[words[0]] += int(words[1]) * 1024
        return {"rss": sums["Rss:"], "pss": sums["Pss:"]}

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)  # a drain, a last batch of rows
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
