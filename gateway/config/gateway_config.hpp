// Everything a gateway is told: where it listens, its upstreams and routes, and how it treats its
// clients. Plain values with usable defaults (gateway reference, column "gatedrill"); the YAML form
// is read by read_gateway_config.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/config/redaction_config.hpp"
#include "gateway/core/time.hpp"
#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/options.hpp"
#include "gateway/policy/minimum_rate.hpp"
#include "gateway/policy/router.hpp"
#include "gateway/policy/upstream.hpp"

namespace gatedrill::gateway {

// The client's side of a connection.
struct ClientConfig {
  // From a request's first byte to the end of its head, absolute: slow headers end in 408.
  Duration header_timeout = std::chrono::seconds{10};
  // Between two reads of a request's body (408), and between two writes of an answer.
  Duration body_timeout = std::chrono::seconds{15};
  // The least rate at which a client sends a body (408) and takes an answer (closed), while it is
  // its turn.
  MinimumRate::Config body_rate;
  MinimumRate::Config read_rate;
  // Between the end of an answer and the next request: closed without a word.
  Duration keep_alive = std::chrono::seconds{60};
  int requests_max = 1000;  // on one connection; 0: no limit
  // At once; 0: as the process's descriptors allow, two for each. More wait to be accepted.
  int connections_max = 0;
  // At once from one address; 0: no limit. One more is answered 503 overloaded and closed. Behind
  // a proxy that all clients share this wants the PROXY protocol.
  int connections_per_ip_max = 0;
  std::uint64_t body_bytes_max = std::uint64_t{10} * 1024 * 1024;  // 0: no limit
  http::h1::HeadLimits head;                                       // 431, 414
  http::UnderscoreNames underscore_names = http::UnderscoreNames::drop;
  // Addresses and networks of the proxies whose X-Forwarded-* fields are believed; everyone else's
  // are dropped.
  std::vector<std::string> trusted_proxies;
  // Those that begin each connection with a PROXY protocol header; from nobody else is it read.
  std::vector<std::string> proxy_protocol_from;

  bool operator==(const ClientConfig&) const = default;
};

// One line a request, JSON (docs/access-log.md).
struct AccessLogConfig {
  std::string path;             // empty: none; "-": standard output
  std::uint32_t sample_ok = 1;  // one ok request in so many; all others always have their line

  bool operator==(const AccessLogConfig&) const = default;
};

// The traffic itself, both legs, into a recording (replay/RECORDING.md). For `gatedrill gateway`.
struct RecordConfig {
  std::string traffic;  // the file; empty: none
  RedactionConfig redaction;
  // What may wait to be written, for each thread; what comes beyond it is counted, and lost.
  std::uint64_t buffer_bytes = std::uint64_t{64} * 1024 * 1024;

  bool operator==(const RecordConfig&) const = default;
};

// Who may be reached by CONNECT: a tunnel to one of these targets ("host:port") and to nobody else.
// Without any, CONNECT is answered with 405, and otherwise 403 for other targets.
struct ConnectConfig {
  std::vector<std::string> allow;
  TimeoutConfig timeouts;

  bool operator==(const ConnectConfig&) const = default;
};

struct GatewayConfig {
  std::string name = "gateway";                          // in events and in Via
  std::vector<std::string> listen = {"127.0.0.1:8080"};  // "address:port"; port 0: any free one
  // That many of the machine's processors are used; every limit stays one number for all of them.
  int threads = 1;
  std::vector<UpstreamConfig> upstreams;
  std::vector<RouteConfig> routes;  // each names one of the upstreams
  ClientConfig client;
  ConnectConfig connect;
  http::h1::HeadLimits response_head;                    // beyond it: response_header_too_large
  std::uint32_t replay_buffer_bytes = 64 * 1024;         // a longer request body is not sent twice
  Duration resolve_interval = std::chrono::seconds{30};  // endpoints given by name
  bool cause_header = false;                             // x-gatedrill-cause on answers of our own
  bool proxy_status = false;                             // Proxy-Status (RFC 9209) on them
  AccessLogConfig access_log;
  RecordConfig record;
  Duration drain_timeout = std::chrono::seconds{10};  // running requests may take that long to end
  // One ok request in so many keeps its rows in run.db, where they stand for all of them; others
  // always have rows, and every total is exact. For `gatedrill gateway`: a drill keeps all.
  std::uint32_t sample_ok = 100;

  bool operator==(const GatewayConfig&) const = default;
};

}  // namespace gatedrill::gateway
