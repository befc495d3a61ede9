// Which route a request takes: an exact host before any host, then the longest path prefix, then
// the order of the configuration. A prefix is plain text, as in nginx and Envoy: /shop matches
// /shopping.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/core/names.hpp"
#include "gateway/policy/retry_rules.hpp"
#include "gateway/policy/token_bucket.hpp"

namespace gatedrill::gateway {

// Gateway reference 2.6. `response` runs from the request's last byte to the answer's head, and
// between two writes of a request that the upstream takes slowly; `idle` between two reads of the
// answer's body; `total` from the request's last byte from the client (as in Envoy) to the answer's
// head, all attempts and back-offs included; `per_try` from an attempt's start to its answer's head
// (0: none). `tunnel` is how long neither side of a tunnel (WebSocket, CONNECT) may send anything;
// once one side has ended, `idle` is how long the other may.
struct TimeoutConfig {
  Duration connect = std::chrono::seconds{1};
  Duration response = std::chrono::seconds{3};
  Duration idle = std::chrono::seconds{15};
  Duration total = std::chrono::seconds{5};
  Duration per_try{0};
  Duration tunnel = std::chrono::hours{1};

  bool operator==(const TimeoutConfig&) const = default;
};

struct RouteConfig {
  struct Match {
    std::string host;  // without port; empty: any
    std::string path_prefix = "/";
    std::string connect;  // the target of a CONNECT, "host:port": only that, and nothing else

    bool operator==(const Match&) const = default;
  };

  std::string name;  // empty: host and prefix
  Match match;
  std::string upstream;
  std::string strip_prefix;           // taken off the path before it is sent on
  std::vector<std::string> trailers;  // fields that pass behind a chunked body; others are dropped
  TimeoutConfig timeouts;
  RetryConfig retry;
  TokenBucket::Config rate_limit;
  // Protocols to which a client may have its connection changed (Upgrade); others end here.
  std::vector<std::string> upgrade = {"websocket"};

  bool operator==(const RouteConfig&) const = default;
};

class Router {
 public:
  // `routes` in the order of the configuration.
  explicit Router(const std::vector<RouteConfig>& routes);

  // The index into the routes given; nothing: no route. `host` may carry a port; path without
  // query.
  [[nodiscard]] std::optional<std::size_t> match(std::string_view host,
                                                 std::string_view path) const;
  // The route for a CONNECT to that target; nothing: it is not allowed.
  [[nodiscard]] std::optional<std::size_t> match_connect(std::string_view target) const;

 private:
  struct Entry {
    std::string host;
    std::string prefix;
    std::size_t index;
  };

  std::vector<Entry> entries_;  // best first
  std::vector<std::pair<std::string, std::size_t>> connects_;
};

// The name by which reports know a route.
[[nodiscard]] std::string route_name(const RouteConfig& route);

}  // namespace gatedrill::gateway
