-- run.db. The t_ tables may change with migrations (PRAGMA user_version); the views below are the
-- public contract. Times are nanoseconds from the start of the run; a time that never came is NULL,
-- and so is a text or a status that does not apply.

CREATE TABLE t_run(key TEXT NOT NULL PRIMARY KEY, value ANY) STRICT;

-- The named stretches of the timeline; gateway is NULL for one that all variants share.
CREATE TABLE t_phase(name TEXT NOT NULL, gateway TEXT, from_ns INTEGER NOT NULL, until_ns INTEGER)
  STRICT;

CREATE TABLE t_request(
  gateway TEXT, request_id TEXT, at_ns INTEGER NOT NULL, client TEXT, method TEXT, path TEXT,
  route TEXT, upstream TEXT, status INTEGER, cause TEXT NOT NULL, retries_exhausted INTEGER NOT NULL,
  latency_ns INTEGER NOT NULL, attempts INTEGER NOT NULL, limiter TEXT, limiter_key TEXT,
  weight INTEGER NOT NULL) STRICT;

CREATE TABLE t_attempt(
  gateway TEXT, request_id TEXT, attempt INTEGER NOT NULL, at_ns INTEGER NOT NULL, upstream TEXT,
  endpoint TEXT, reused INTEGER NOT NULL, connection_id INTEGER, connection_age_ns INTEGER NOT NULL,
  connection_ordinal INTEGER NOT NULL, status INTEGER, cause TEXT NOT NULL,
  latency_ns INTEGER NOT NULL, why_retried TEXT, weight INTEGER NOT NULL, connect_ns INTEGER,
  send_ns INTEGER, wait_ns INTEGER, receive_ns INTEGER) STRICT;

CREATE TABLE t_send(
  gateway TEXT, request_id TEXT, source TEXT, intended_ns INTEGER NOT NULL, sent_ns INTEGER,
  done_ns INTEGER, status INTEGER, body_complete INTEGER NOT NULL, error TEXT,
  method TEXT, path TEXT, status_expected INTEGER, body_as_expected INTEGER NOT NULL,
  side_connection INTEGER NOT NULL) STRICT;

CREATE TABLE t_execution(
  gateway TEXT, request_id TEXT, business_key TEXT, endpoint TEXT, at_ns INTEGER NOT NULL,
  method TEXT, path TEXT) STRICT;

CREATE TABLE t_transition(
  gateway TEXT, at_ns INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT, from_state TEXT,
  to_state TEXT, reason TEXT) STRICT;

CREATE TABLE t_probe(
  gateway TEXT, at_ns INTEGER NOT NULL, prober TEXT, endpoint TEXT, verdict TEXT,
  latency_ns INTEGER NOT NULL) STRICT;

CREATE TABLE t_eviction(
  gateway TEXT, at_ns INTEGER NOT NULL, upstream TEXT, endpoint TEXT, connection_id INTEGER,
  reason TEXT NOT NULL, age_ns INTEGER NOT NULL, requests INTEGER NOT NULL) STRICT;

CREATE TABLE t_fault(
  gateway TEXT, at_ns INTEGER NOT NULL, until_ns INTEGER, name TEXT, kind TEXT, target TEXT) STRICT;

CREATE TABLE t_fault_hit(
  gateway TEXT, at_ns INTEGER NOT NULL, fault TEXT, target TEXT, request_id TEXT, attempt INTEGER,
  planned TEXT, observed TEXT) STRICT;

-- Exact, from counters, whatever was sampled or lost among the rows. A request belongs to the
-- second of its arrival. `reached` are the requests that were sent upstream at least once.
CREATE TABLE t_per_second(
  gateway TEXT, second INTEGER NOT NULL, route TEXT, status INTEGER, cause TEXT NOT NULL,
  requests INTEGER NOT NULL, upstream_attempts INTEGER NOT NULL, reached INTEGER NOT NULL) STRICT;

-- `histogram` is HdrHistogram's V2 encoding, compressed, in microseconds.
CREATE TABLE t_latency(
  gateway TEXT, second INTEGER NOT NULL, route TEXT, p50_ns INTEGER NOT NULL,
  p90_ns INTEGER NOT NULL, p99_ns INTEGER NOT NULL, p999_ns INTEGER NOT NULL,
  max_ns INTEGER NOT NULL, requests INTEGER NOT NULL, histogram BLOB NOT NULL) STRICT;

-- A second may be added to after it was written: a request counts in that of its arrival.
CREATE UNIQUE INDEX t_per_second_place ON t_per_second(
  second, coalesce(gateway, ''), coalesce(route, ''), coalesce(status, 0), cause);
CREATE UNIQUE INDEX t_latency_place ON t_latency(
  second, coalesce(gateway, ''), coalesce(route, ''));

CREATE TABLE t_resource(
  gateway TEXT, at_ns INTEGER NOT NULL, process TEXT, cpu_ns INTEGER NOT NULL,
  rss_bytes INTEGER NOT NULL, fds INTEGER NOT NULL, client_connections INTEGER NOT NULL,
  upstream_connections INTEGER NOT NULL, time_wait INTEGER NOT NULL) STRICT;

CREATE TABLE t_verdict(
  name TEXT NOT NULL, gateway TEXT, expression TEXT NOT NULL, actual TEXT, passed INTEGER,
  note TEXT) STRICT;

CREATE TABLE t_dropped(place TEXT NOT NULL, count INTEGER NOT NULL, reason TEXT) STRICT;

CREATE VIEW run AS SELECT key, value FROM t_run;

CREATE VIEW requests AS
  SELECT gateway, request_id, at_ns / 1e6 AS at_ms, client, method, path, route, upstream, status,
         cause, retries_exhausted, latency_ns / 1e6 AS latency_ms, attempts, limiter, limiter_key,
         weight
  FROM t_request;

CREATE VIEW attempts AS
  SELECT gateway, request_id, attempt, at_ns / 1e6 AS at_ms, upstream, endpoint, reused,
         connection_id, connection_age_ns / 1e6 AS connection_age_ms, connection_ordinal, status,
         cause, latency_ns / 1e6 AS latency_ms, why_retried, connect_ns / 1e6 AS connect_ms,
         send_ns / 1e6 AS send_ms, wait_ns / 1e6 AS wait_ms, receive_ns / 1e6 AS receive_ms
  FROM t_attempt;

CREATE VIEW sends AS
  SELECT gateway, request_id, source, intended_ns / 1e6 AS intended_ms, sent_ns / 1e6 AS sent_ms,
         done_ns / 1e6 AS done_ms, status, body_complete, error
  FROM t_send;

CREATE VIEW executions AS
  SELECT gateway, request_id, business_key, endpoint, at_ns / 1e6 AS at_ms, method, path
  FROM t_execution;

CREATE VIEW transitions AS
  SELECT gateway, at_ns / 1e6 AS at_ms, kind, subject, from_state, to_state, reason
  FROM t_transition;

CREATE VIEW probes AS
  SELECT gateway, at_ns / 1e6 AS at_ms, prober, endpoint, verdict, latency_ns / 1e6 AS latency_ms
  FROM t_probe;

-- Kept connections that a pool gave up, and why; count(*) by reason is exact.
CREATE VIEW evictions AS
  SELECT gateway, at_ns / 1e6 AS at_ms, upstream, endpoint, connection_id, reason,
         age_ns / 1e6 AS age_ms, requests
  FROM t_eviction;

-- A fault that was switched on several times: a hit belongs to the latest window begun by then, one
-- before them all to the first.
CREATE VIEW faults AS
  SELECT gateway, at_ns / 1e6 AS at_ms, until_ns / 1e6 AS until_ms, name, kind, target,
         (SELECT count(*) FROM t_fault_hit h
          WHERE h.gateway IS f.gateway AND h.fault IS f.name
            AND h.at_ns >= f.hits_from AND h.at_ns < f.hits_until) AS hits
  FROM (SELECT rowid AS id, *,
               CASE WHEN at_ns = min(at_ns) OVER (PARTITION BY gateway, name)
                    THEN -9223372036854775808 ELSE at_ns END AS hits_from,
               coalesce(min(at_ns) OVER (PARTITION BY gateway, name ORDER BY at_ns
                                         RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING),
                        9223372036854775807) AS hits_until
        FROM t_fault) f
  ORDER BY id;

CREATE VIEW fault_hits AS
  SELECT gateway, at_ns / 1e6 AS at_ms, fault, target, request_id, attempt, planned, observed
  FROM t_fault_hit;

CREATE VIEW per_second AS
  SELECT gateway, second, route, status, cause, requests, upstream_attempts FROM t_per_second;

CREATE VIEW latency AS
  SELECT gateway, second, route, p50_ns / 1e6 AS p50_ms, p90_ns / 1e6 AS p90_ms,
         p99_ns / 1e6 AS p99_ms, p999_ns / 1e6 AS p999_ms, max_ns / 1e6 AS max_ms, requests
  FROM t_latency;

CREATE VIEW resources AS
  SELECT gateway, at_ns / 1e6 AS at_ms, process, cpu_ns / 1e6 AS cpu_ms, rss_bytes, fds,
         client_connections, upstream_connections, time_wait
  FROM t_resource;

CREATE VIEW verdicts AS SELECT name, gateway, expression, actual, passed, note FROM t_verdict;

CREATE VIEW dropped AS SELECT place, count, reason FROM t_dropped;
