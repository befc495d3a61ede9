"""Closes the books of a soak: what the clients saw against what the gateway recorded.

    accepted = replied + client_closed + in flight (0 at the end)

A request is accepted when its head has been read; each then has one row in run.db, whatever became of it. The clients'
ids say from outside that none is missing and none is there twice.
"""

import collections
import json
import sqlite3

# Causes after which the client got no whole answer of ours or the upstream's.
BROKEN_OFF = {"body_truncated", "body_idle_timeout"}


class Check:
    def __init__(self, name, held, text):
        self.name, self.held, self.text = name, held, text

    def as_json(self):
        return {"check": self.name, "held": self.held, "text": self.text}


def some(ids):
    ids = sorted(ids)
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


def read_run(path):
    with sqlite3.connect(path) as db:
        rows = db.execute("select request_id, status, cause from requests").fetchall()
        totals = dict(db.execute("select cause, sum(requests) from per_second group by cause").fetchall())
        (dropped,) = db.execute("select coalesce(sum(count), 0) from dropped").fetchone()
    return rows, totals, dropped


def logged_ids(path):
    with open(path, encoding="utf-8") as log:
        return collections.Counter(json.loads(line)["request_id"] for line in log)


def close(tally, work):
    """The ledger's lines and the checks."""
    rows, totals, dropped = read_run(work / "run.db")
    seen = collections.Counter(row[0] for row in rows)
    by_id = {row[0]: row for row in rows}
    accepted = sum(totals.values())
    client_closed = totals.get("client_closed", 0)
    steady = set(tally.answered) | tally.cut

    missing = steady - by_id.keys()
    twice = {name for name, count in seen.items() if count > 1}
    other_status = {name for name, status in tally.answered.items() if name in by_id and by_id[name][1] != status}
    not_broken = {name for name in tally.cut if name in by_id and by_id[name][2] not in BROKEN_OFF}
    nobodys = [row for row in rows if row[0].split("-")[0] not in ("steady", "left", "stalled")]
    unexplained = [row for row in nobodys if row[2] not in ("malformed_request", "client_header_timeout")]
    silent_recorded = {name for name in tally.silent if name in by_id}
    checks = [
        Check("every row is counted", accepted == len(rows) and dropped == 0,
              f"{accepted} requests in per_second, {len(rows)} rows, {dropped} dropped"),
        Check("the access log has a line for each row", logged_ids(work / "access.log") == seen,
              f"{sum(seen.values())} rows"),
        Check("every answered request has a row", not missing, f"{len(steady)} requests; missing: {some(missing) or 'none'}"),
        Check("no request has two rows", not twice, some(twice) or "none has"),
        Check("nothing is recorded that nobody sent", not unexplained,
              f"{len(nobodys)} rows without a client's id, all malformed or late" if not unexplained
              else some(f"{row[0]} {row[2]}" for row in unexplained)),
        Check("rows say the status that the client saw", not other_status,
              some(f"{name} saw {tally.answered[name]}, row {by_id[name][1]}" for name in other_status) or "all do"),
        Check("a broken answer has its cause", not not_broken,
              f"{len(tally.cut)} broken off; otherwise: "
              + (some(f"{name} {by_id[name][2]}" for name in not_broken) or "none")),
        Check("a request that found its connection closed was never taken up", not silent_recorded,
              f"{len(tally.silent)} such; recorded all the same: "
              + (some(f"{name} {by_id[name][2]}" for name in silent_recorded) or "none")),
        Check("every malformed request is recorded", totals.get("malformed_request", 0) == tally.malformed,
              f"{tally.malformed} answered 400, {totals.get('malformed_request', 0)} recorded"),
        Check("once all is well again, all is answered", set(tally.calm) == {200},
              f"the last two seconds' statuses: {dict(tally.calm)}"),
        Check("the gateway treated odd clients as it should", not tally.surprises, "; ".join(tally.surprises) or "all did"),
    ]
    lines = {"accepted": accepted, "replied": accepted - client_closed, "client_closed": client_closed,
             "by_cause": totals}
    return lines, checks


def slope_per_minute(samples, key):
    """Least squares over the second half of the samples."""
    half = samples[len(samples) // 2:]
    if len(half) < 3:
        return 0.0
    times = [sample["second"] / 60 for sample in half]
    values = [sample[key] for sample in half]
    mean_time, mean_value = sum(times) / len(times), sum(values) / len(values)
    spread = sum((time - mean_time) ** 2 for time in times)
    return sum((time - mean_time) * (value - mean_value) for time, value in zip(times, values)) / spread
