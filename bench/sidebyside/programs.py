"""The origin and the three proxies: their configurations, alike in what they do, and how they are started."""

import os
import pathlib
import shutil
import subprocess

from .processes import Failed, Program, free_port

SMALL = "0123456789abcdef" * 64  # 1 KiB
LARGE_BYTES = 100 * 1024
CLIENTS_MAX = 6000

NGINX_TOP = """
worker_processes 1;
worker_rlimit_nofile {files};
daemon off;
{user}pid {dir}/{name}.pid;
error_log {dir}/{name}-error.log warn;
events {{ worker_connections {files}; }}
http {{
  client_body_temp_path {dir}/{name}-body;
  proxy_temp_path {dir}/{name}-proxy;
  fastcgi_temp_path {dir}/{name}-fastcgi;
  uwsgi_temp_path {dir}/{name}-uwsgi;
  scgi_temp_path {dir}/{name}-scgi;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
"""

ORIGIN = NGINX_TOP + """
  access_log off;
  sendfile on;
  open_file_cache max=10;
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    default_type text/plain;
    location / {{ return 200 "{small}"; }}
    location = /large {{ root {dir}/files; }}
  }}
}}
"""

NGINX = NGINX_TOP + """
  log_format same escape=json '{nginx_same}';
  access_log {dir}/{name}-access.log {nginx_format}{nginx_buffer};
  upstream origin {{
    server 127.0.0.1:{origin};
    keepalive 256;
    keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location / {{
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }}
  }}
}}
"""

HAPROXY = """
global
  nbthread 1
  maxconn {clients}
  log {haproxy_log} local0
{haproxy_ring}
defaults
  mode http
  log global
{haproxy_format}
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  http-reuse always
listen bench
  bind 127.0.0.1:{port} backlog 1024
  server origin 127.0.0.1:{origin} maxconn {clients}
"""
# The facts of a line of gatedrill's access log, as far as each can tell them.
NGINX_SAME = (
    '{"time":"$time_iso8601","msec":$msec,"gateway":"$hostname","request_id":"$request_id","client":"$remote_addr",'
    '"method":"$request_method","host":"$host","target":"$request_uri","upstream":"$proxy_host","status":$status,'
    '"completion":"$request_completion","limiter":"$limit_req_status","body_in":"$content_length","bytes_in":$request_length,'
    '"body_out":$body_bytes_sent,"latency":$request_time,"connection_id":$connection,"connection_ordinal":$connection_requests,'
    '"attempts":{"endpoint":"$upstream_addr","status":"$upstream_status","connect":"$upstream_connect_time",'
    '"wait":"$upstream_header_time","receive":"$upstream_response_time","body":"$upstream_response_length"}}')
HAPROXY_SAME = (
    '{"time":"%T","msec":"%Ts.%ms","gateway":"%H","request_id":"%ID","client":"%ci","method":"%HM","target":"%HU","route":"%f",'
    '"upstream":"%b","status":%ST,"haproxy_state":"%tsc","body_in":%U,"body_out":%B,"latency_ms":%Ta,"connection_ordinal":%rt,'
    '"attempts":{"endpoint":"%si:%sp","server":"%s","retries":"%rc","queue_ms":%Tw,"connect_ms":%Tc,"wait_ms":%Tr,"receive_ms":%Td}}')
HAPROXY_SAME_LINES = f"""  unique-id-format %{{+X}}o\\ %ci:%cp_%Ts_%rt:%pid
  log-format '{HAPROXY_SAME}'"""
HAPROXY_RING = """
ring written
  format rfc3164
  size 1048576
"""

# Every policy is at work: a rate limit that is counted but not met, the breaker, probes, retries with
# their budget and replay buffer, the pool, the limit on requests at once.
GATEDRILL = """
listen: 127.0.0.1:{port}
threads: {threads}
{access_log}
client: {{max_requests: 0, keep_alive: 600s}}
upstreams:
  origin:
    endpoints: [127.0.0.1:{origin}]
    max_requests: 1024
    breaker: {{mode: any, failure_rate: 50%, consecutive_failures: 10, slow_rate: 80%}}
    health: {{path: /, interval: 1s, fall: 3, rise: 2}}
    pool: {{max_idle: 256, max_requests: 1000000000}}
    retry_budget: {{percent: 10%, min_concurrent: 3}}
routes:
  - match: {{ path_prefix: / }}
    upstream: origin
    retry: {{max_retries: 2}}
    limits: {{ rate: 10000000/s, burst: 1000000 }}
"""


class Programs:
    """Starts what is asked for, in one folder, and ends all of it."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.started = []
        self.places = find_programs(options)
        self.words = {
            "dir": work, "small": SMALL, "files": 3 * CLIENTS_MAX, "clients": CLIENTS_MAX, "threads": 1,
            "user": "user root;\n" if os.geteuid() == 0 else "",
            "nginx_same": NGINX_SAME, "nginx_format": "same" if options.lines == "same" else "combined",
            "haproxy_format": HAPROXY_SAME_LINES if options.lines == "same" else "  option httplog",
            "nginx_buffer": " buffer=64k flush=1s" if options.log == "batched" else "",
            "haproxy_log": "ring@written" if options.log == "batched" else "stdout format raw",
            "haproxy_ring": HAPROXY_RING if options.log == "batched" else ""}
        (work / "files").mkdir()
        (work / "files/large").write_bytes(b"x" * LARGE_BYTES)
        self.words["origin"] = self.start("origin").port

    def start(self, name, label=None, **words):
        label = label or name
        port = free_port()
        words = self.words | {"name": f"{label}-{port}", "port": port} | words
        templates = {"origin": ORIGIN, "nginx": NGINX, "haproxy": HAPROXY, "gatedrill": GATEDRILL}
        # nginx writes its lines as they come or in batches; gatedrill always in batches.
        lines = f"access_log: {{path: {self.work}/{label}-{port}-access.log, sample_ok: 1}}"
        words["access_log"] = lines if self.options.record in ("lines", "both", "traffic") else ""
        conf = self.work / (f"{label}-{port}" + (".yaml" if name == "gatedrill" else ".conf"))
        conf.write_text(templates[name].format(**words))
        nginx = [self.places["nginx"], "-p", self.work, "-e", self.work / f"{label}-{port}-error.log", "-c", conf]
        commands = {"origin": nginx, "nginx": nginx, "haproxy": [self.places["haproxy"], "-db", "-f", conf],
                    "gatedrill": [self.places["gatedrill"], "gateway", "-c", conf]}
        command = commands[name]
        if name == "gatedrill" and self.options.record in ("rows", "both"):
            command = command + ["-o", self.work / f"{label}-{port}.db"]
        if name == "gatedrill" and self.options.record == "traffic":
            command = command + ["--record", self.work / f"{label}-{port}-traffic.db"]
        program = Program(label, command, port, self.work)
        self.started.append(program)
        return program

    def stop(self, program):
        self.started.remove(program)
        program.stop()

    def stop_all(self):
        for program in reversed(self.started):
            program.stop()
        self.started.clear()

    def versions(self):
        flags = {"nginx": "-v", "haproxy": "-v", "gatedrill": "--version"}
        return {name: version_of([self.places[name], flag]) for name, flag in flags.items() if self.places[name]}


def find_programs(options):
    """What is to be started, or one message that names everything missing."""
    def find(name):
        return shutil.which(name) or shutil.which(name, path="/usr/sbin")
    places = {name: find(name) for name in ("wrk", "nginx", "haproxy", "h2load", "tshark")}
    places["gatedrill"] = str(options.gatedrill) if os.access(options.gatedrill, os.X_OK) else None
    advice = {"gatedrill": f"gatedrill is not at {options.gatedrill}: build it with 'make', or name it with --gatedrill",
              "h2load": "h2load is missing: install the Debian package 'nghttp2-client'"}
    needed = {"wrk", "nginx"} | set(options.proxies)
    if "p99" in options.scenarios:
        needed.add("h2load")
    if "shards" in options.scenarios:
        needed.add("gatedrill")
    if "capture" in options.scenarios:
        needed |= {"gatedrill", "tshark"}
    missing = [advice.get(name, f"{name} is missing: install the Debian package '{name}'")
               for name in sorted(needed) if not places[name]]
    if missing:
        raise Failed("\n       ".join(missing) + "\n       (--only nginx,haproxy measures without the rest)")
    return places


def version_of(command):
    done = subprocess.run(command, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else "unknown"
