// Makes hops and chains by hand, for the tests of explain. Times are milliseconds since the start.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "replay/explain/chain.hpp"
#include "replay/explain/findings.hpp"
#include "replay/explain/verdict.hpp"

namespace gatedrill::tests {

inline constexpr const char* kGateway = "10.0.0.1:8080";
inline constexpr const char* kShop = "10.0.1.5:9001";
inline constexpr std::int64_t kRequestBytes = 100;

inline UnixTime at_ms(double ms) {
  return UnixTime{1'700'000'000'000'000'000 + from_ms(ms).count()};
}

// One exchange; what is not said is an ordinary one on a fresh connection that stays open.
class HopMaker {
 public:
  HopMaker(std::string server, double begin_ms) {
    hop_.client = server == kGateway ? "10.9.9.9:5000" : "10.0.0.1:41000";
    hop_.server = std::move(server);
    hop_.id = next_id()++;
    hop_.connection.connection = hop_.id;
    hop_.method = "GET";
    hop_.target = "/item";
    hop_.begin = at_ms(begin_ms);
    hop_.request_end = hop_.begin;
    hop_.ordinal = 1;
    hop_.idle_before = Duration{0};
    hop_.connection.opened = hop_.begin;
    hop_.connection.connect = "established";
    hop_.connection.syns = 1;
    hop_.transport = replay::RecordedTransport{.request_end = kRequestBytes, .acknowledged = true};
  }

  HopMaker& id(const std::string& id) {
    replay::explain::read_request_fields("x-request-id: " + id + "\n", hop_);
    return *this;
  }

  HopMaker& field(const std::string& line) {
    replay::explain::read_request_fields(line + "\n", hop_);
    return *this;
  }

  HopMaker& method(const std::string& method) {
    hop_.method = method;
    return *this;
  }

  HopMaker& target(const std::string& target) {
    hop_.target = target;
    return *this;
  }

  HopMaker& from(const std::string& client) {
    hop_.client = client;
    return *this;
  }

  // The ordinal-th request of a connection that was opened long before.
  HopMaker& kept(std::uint32_t ordinal, double idle_ms) {
    hop_.ordinal = ordinal;
    hop_.idle_before = from_ms(idle_ms);
    hop_.connection.opened = UnixTime{hop_.begin.ns - from_ms(60'000 + idle_ms).count()};
    return *this;
  }

  HopMaker& older_than_the_capture() {
    hop_.connection.opened.reset();
    hop_.connection.connect.clear();
    return *this;
  }

  HopMaker& answered(int status, double first_byte_ms) {
    hop_.status = status;
    hop_.answer_begin = UnixTime{hop_.begin.ns + from_ms(first_byte_ms).count()};
    hop_.answer_end = hop_.answer_begin;
    return *this;
  }

  HopMaker& answer_cut() {
    hop_.answer_whole = false;
    return *this;
  }

  HopMaker& request_cut() {
    hop_.request_whole = false;
    hop_.request_end.reset();
    return *this;
  }

  // Relative to the request's first byte; `acked` of the request's bytes.
  HopMaker& server_fin(double ms, std::int64_t acked) {
    hop_.connection.server_side.fin = UnixTime{hop_.begin.ns + from_ms(ms).count()};
    hop_.connection.server_side.fin_acked = acked;
    return *this;
  }

  HopMaker& server_rst(double ms, std::optional<std::int64_t> acked) {
    hop_.connection.server_side.rst = UnixTime{hop_.begin.ns + from_ms(ms).count()};
    hop_.connection.server_side.rst_acked = acked;
    return *this;
  }

  HopMaker& client_fin(double ms) {
    hop_.connection.client_side.fin = UnixTime{hop_.begin.ns + from_ms(ms).count()};
    return *this;
  }

  HopMaker& client_rst(double ms) {
    hop_.connection.client_side.rst = UnixTime{hop_.begin.ns + from_ms(ms).count()};
    return *this;
  }

  // RST_STREAM, of HTTP/2.
  HopMaker& stream_reset(double ms, const char* by) {
    hop_.reset = replay::RecordedReset{.at = UnixTime{hop_.begin.ns + from_ms(ms).count()},
                                       .by_client = std::string(by) == "client"};
    return *this;
  }

  // What the server sent then is no answer, or no part of the one that it had begun.
  HopMaker& malformed(double ms) {
    hop_.malformed_answer = UnixTime{hop_.begin.ns + from_ms(ms).count()};
    hop_.answer_whole = false;
    return *this;
  }

  // When the last byte of the answer that was seen came.
  HopMaker& answer_until(double ms) {
    hop_.answer_end = UnixTime{hop_.begin.ns + from_ms(ms).count()};
    return *this;
  }

  HopMaker& not_acknowledged() {
    hop_.transport->acknowledged = false;
    return *this;
  }

  HopMaker& after_fin() {
    hop_.transport->after_fin = true;
    return *this;
  }

  HopMaker& hole(std::uint64_t bytes) {
    hop_.connection.gap_bytes = bytes;
    return *this;
  }

  replay::explain::Hop& hop() { return hop_; }

  [[nodiscard]] replay::explain::Hop make() const {
    replay::explain::Hop hop = hop_;
    hop.keys.push_back(replay::explain::content_key(hop, ""));
    return hop;
  }

 private:
  static std::int64_t& next_id() {
    static std::int64_t next = 1;
    return next;
  }

  replay::explain::Hop hop_;
};

inline replay::explain::Chain chain_of(const HopMaker& top) {
  replay::explain::Chain chain;
  chain.hop = top.make();
  chain.outcome = replay::explain::outcome_of(chain.hop);
  return chain;
}

inline replay::explain::Chain chain_of(const HopMaker& top, const std::vector<HopMaker>& upstream) {
  replay::explain::Chain chain = chain_of(top);
  for (const HopMaker& hop : upstream) {
    chain.children.push_back(chain_of(hop));
    chain.children.back().joined_by = replay::explain::KeyKind::request_id;
  }
  return chain;
}

inline replay::explain::Attempt attempt(const std::string& server,
                                        double ms,
                                        const std::string& connect) {
  replay::explain::Attempt out;
  out.connection.client = "10.0.0.1:41001";
  out.connection.server = server;
  out.connection.opened = at_ms(ms);
  out.connection.connect = connect;
  out.connection.syns = connect == "refused" ? 1 : 3;
  return out;
}

// The gateway calls the shop.
inline replay::explain::Topology gateway_and_shop() {
  replay::explain::Topology topology;
  topology.set(kShop, {.kind = replay::explain::KeyKind::request_id, .servers = {kGateway}});
  return topology;
}

}  // namespace gatedrill::tests
