"""What is measured. Each scenario returns its rows; all of them let the proxies take turns, in rounds whose order
rotates, so that what disturbs the machine disturbs all of them."""

import statistics
import time

from .captures import write_capture
from .clients import IdleClients, constant_rate, full_speed
from .processes import run_to_its_end

SCENARIOS = ("small", "large", "idle", "shards", "p99", "capture")
WITHOUT_PROXIES = ("capture",)
UNITS = {"small": "microseconds of processor time per request", "large": "microseconds of processor time per request",
         "shards": "microseconds of processor time per request", "idle": "bytes", "p99": "microseconds",
         "capture": "seconds of processor time"}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratio(rounds, figure, one, other):
    """Of the same round: what disturbed one of them disturbed the other."""
    return spread([row[one][figure] / row[other][figure] for row in rounds])


def rotated(names, number):
    turn = number % len(names)
    return names[turn:] + names[:turn]


def show(round_name, name, row, columns):
    figures = "".join(f"{row[column]:>{width}{form}}" for column, width, form in columns)
    print(f"{round_name:>8}  {name:<14}{figures}", flush=True)


def head(columns):
    print(f"{'round':>8}  {'':<14}" + "".join(f"{column:>{width}}" for column, width, _ in columns))


def play_rounds(names, rounds, columns, measure):
    head(columns)
    rows = []
    for number in range(rounds):
        rows.append({})
        for name in rotated(names, number):
            rows[-1][name] = measure(name)
            show(number + 1, name, rows[-1][name], columns)
    for name in names:
        show("median", name, {column: statistics.median(row[name][column] for row in rows)
                              for column, _, _ in columns}, columns)
    return rows


COST = [("total_us", 10, ".2f"), ("user_us", 10, ".2f"), ("kernel_us", 11, ".2f"), ("requests_per_second", 21, ".0f")]


def cost_of_requests(programs_by_name, path, options, rounds):
    """Processor time per request at full speed."""
    for program in programs_by_name.values():
        full_speed(program.port, path, options.connections, 1)  # warm: connections, caches, memory

    def measure(name):
        program = programs_by_name[name]
        user_before, kernel_before = program.processor_time()
        row = full_speed(program.port, path, options.connections, options.seconds)
        user, kernel = program.processor_time_when_quiet()
        scale = 1e6 / row["requests"]
        return row | {"user_us": (user - user_before) * scale, "kernel_us": (kernel - kernel_before) * scale,
                      "total_us": (user - user_before + kernel - kernel_before) * scale}

    return play_rounds(list(programs_by_name), rounds, COST, measure)


def against_the_first(rounds, figure, names):
    return {f"{names[0]}/{other}": ratio(rounds, figure, names[0], other) for other in names[1:]}


def small(programs, proxies, options):
    rounds = cost_of_requests(proxies, "/", options, options.rounds)
    return {"rounds": rounds, "ratios": against_the_first(rounds, "total_us", list(proxies))}


def large(programs, proxies, options):
    rounds = cost_of_requests(proxies, "/large", options, max(1, options.rounds * 2 // 3))
    return {"rounds": rounds, "ratios": against_the_first(rounds, "total_us", list(proxies))}


def shards(programs, proxies, options):
    names = ("two threads", "one thread")
    threads = {"two threads": 2, "one thread": 1}
    running = {name: programs.start("gatedrill", name.replace(" ", "-"), threads=threads[name]) for name in names}
    try:
        rounds = cost_of_requests(running, "/", options, max(1, options.rounds * 2 // 3))
    finally:
        for program in running.values():
            programs.stop(program)
    return {"rounds": rounds, "ratios": against_the_first(rounds, "total_us", list(names))}


def idle(programs, proxies, options):
    """Memory with so many keep-alive clients that have asked once. Each proxy is fresh."""
    columns = [("pss", 12, ".0f"), ("rss", 12, ".0f"), ("pss_grown", 12, ".0f"), ("pss_per_client", 16, ".0f")]
    clients = IdleClients(options.idle_clients)

    def measure(name):
        program = programs.start(name, f"{name}-idle")
        try:
            full_speed(program.port, "/", 16, 1)  # what the first requests need for good is not the clients'
            time.sleep(1)
            before = program.memory()
            clients.ask(program.port)
            time.sleep(1)
            after = program.memory()
        finally:
            clients.leave()
            programs.stop(program)
        grown = {f"{kind}_grown": after[kind] - before[kind] for kind in after}
        return after | grown | {"pss_per_client": grown["pss_grown"] / options.idle_clients,
                                "rss_per_client": grown["rss_grown"] / options.idle_clients}

    rounds = play_rounds(list(proxies), 1, columns, measure)
    names = list(proxies)
    return {"clients": options.idle_clients, "rounds": rounds,
            "ratios": against_the_first(rounds, "pss", names),
            "ratios_of_growth": against_the_first(rounds, "pss_grown", names)}


def p99(programs, proxies, options):
    """Latency at half of what the slowest can do, the same rate for all."""
    columns = [("requests_per_second", 21, ".0f"), ("p50_us", 10, ".0f"), ("p99_us", 10, ".0f"), ("max_us", 10, ".0f")]
    most = {name: full_speed(program.port, "/", options.connections, 2)["requests_per_second"]
            for name, program in proxies.items()}
    rate = min(most.values()) / 2
    print(f"          {rate:.0f} requests a second, half of what {min(most, key=most.get)} can do")
    log = programs.work / "latencies"
    rounds = play_rounds(list(proxies), options.rounds, columns,
                         lambda name: constant_rate(proxies[name].port, "/", options.connections, options.seconds,
                                                    rate, log))
    behind = [name for name in proxies
              if statistics.median(row[name]["requests_per_second"] for row in rounds) < 0.95 * rate]
    if behind:
        print(f"          {', '.join(behind)} did not get that many: the machine is too busy for this figure to mean much")
    return {"rate": rate, "behind": behind, "rounds": rounds, "ratios": against_the_first(rounds, "p99_us", list(proxies))}


# Everything that a recording holds, in one pass: what somebody would write to have the traffic in a file.
TSHARK_FIELDS = ("frame.time_epoch", "tcp.stream", "http.request.method", "http.host", "http.request.uri",
                 "http.request.line", "http.response.code", "http.response.line", "http.request_in", "http.file_data")


def capture(programs, _, options):
    """A capture file of HTTP traffic, made first, stored whole: by gatedrill in a recording, by tshark as text."""
    source = programs.work / "traffic.pcap"
    write_capture(source, options.exchanges)
    print(f"          {options.exchanges} exchanges, {source.stat().st_size / 1e6:.0f} MB")
    commands = {
        "gatedrill": [options.gatedrill, "capture", "-r", source, "-o", programs.work / "traffic.db"],
        "tshark": [programs.places["tshark"], "-n", "-r", source, "-Y", "http", "-T", "fields",
                   *(part for field in TSHARK_FIELDS for part in ("-e", field))]}
    columns = [("total_s", 10, ".2f"), ("user_s", 10, ".2f"), ("kernel_s", 11, ".2f"), ("elapsed_s", 12, ".2f"),
               ("rss_mb", 10, ".0f"), ("stored_mb", 12, ".0f")]

    def measure(name):
        row = run_to_its_end(commands[name], programs.work / f"{name}.txt")
        stored = programs.work / ("traffic.db" if name == "gatedrill" else "tshark.txt")
        return row | {"stored_mb": stored.stat().st_size / 1e6}

    rounds = play_rounds(list(commands), max(1, options.rounds // 3), columns, measure)
    return {"exchanges": options.exchanges, "rounds": rounds,
            "ratios": against_the_first(rounds, "total_s", list(commands))}


TITLES = {"small": "GET of 1 KiB, keep-alive, all policies at work: processor time per request",
          "large": "GET of 100 KiB, keep-alive: processor time per request",
          "idle": "memory with idle keep-alive clients, bytes",
          "shards": "gatedrill with two threads and with one: processor time per request",
          "p99": "latency under half load, microseconds",
          "capture": "a capture file stored whole, by gatedrill and by tshark: processor time and memory"}
PLAY = {"small": small, "large": large, "idle": idle, "shards": shards, "p99": p99, "capture": capture}
