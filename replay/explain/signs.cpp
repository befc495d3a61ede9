#include "replay/explain/signs.hpp"

#include <algorithm>

#include "gateway/http/head.hpp"

namespace gatedrill::replay::explain {
namespace {

// Usual timeouts below this are too common to be worth a line when something comes near them.
constexpr Duration kUsualWorthNoting = std::chrono::seconds(15);
constexpr double kNear = 0.8;

void add_sign(std::vector<Sign>& signs, Sign sign) {
  if (std::find(signs.begin(), signs.end(), sign) == signs.end()) signs.push_back(sign);
}

bool failed_attempt(const Chain& chain) {
  constexpr int kServerError = 500;
  return chain.outcome.fate != Fate::answered || chain.hop.status.value_or(0) >= kServerError;
}

void signs_of_hop(const Chain& chain, const Hints& hints, std::vector<Sign>& signs) {
  const Hop& hop = chain.hop;
  const Outcome& outcome = chain.outcome;
  if (outcome.fate == Fate::request_cut) add_sign(signs, Sign::request_cut);
  if (hop.upload_cut()) add_sign(signs, Sign::upload_cut);
  if (outcome.fate == Fate::cut_by_server || outcome.fate == Fate::cut_by_client) {
    add_sign(signs, Sign::answer_cut);
  }
  if (hop.ordinal == 1 && hop.connection.syns > 1) add_sign(signs, Sign::slow_connect);
  if (hop.transport && hop.transport->retransmissions > 0) add_sign(signs, Sign::retransmitted);
  const std::uint32_t closed_windows =
      hop.connection.client_side.zero_windows + hop.connection.server_side.zero_windows;
  if (closed_windows > 0 && outcome.fate != Fate::answered) add_sign(signs, Sign::window_closed);
  const auto keep_alive = hints.keep_alive.find(hop.server);
  if (keep_alive != hints.keep_alive.end() && hop.idle_before && hop.ordinal > 1) {
    const Duration limit = keep_alive->second.low;
    const Duration margin =
        std::min<Duration>(limit / 2, std::max<Duration>(std::chrono::seconds(1), limit / 10));
    if (*hop.idle_before >= limit - margin) add_sign(signs, Sign::keep_alive_race);
  }
  for (const Chain& child : chain.children)
    signs_of_hop(child, hints, signs);
}

void signs_of_chain(const Chain& chain, const Hints& hints, bool failed, std::vector<Sign>& signs) {
  if (chain.repeats) add_sign(signs, Sign::repeat);
  std::size_t received = 0;
  for (const Chain& child : chain.children) {
    if (child.outcome.fate != Fate::closed_before_request) ++received;
  }
  const bool safe_to_repeat = http::is_idempotent(chain.hop.method);
  if (received > 1 && !safe_to_repeat) add_sign(signs, Sign::repeated_unsafe);
  if (!failed) {
    bool hidden = !chain.attempts.empty() && !chain.children.empty();
    const Chain* last = chain.last_child();
    for (const Chain& child : chain.children) {
      if (last == nullptr || &child == last) break;
      hidden = hidden || failed_attempt(child);
    }
    if (hidden) add_sign(signs, Sign::hidden_retry);
  }
  const auto wait = chain.hop.first_byte();
  if (failed || !wait) return;
  std::vector<Duration> deadlines;
  if (const auto deadline = deadline_of(hints, chain.hop.server)) deadlines.push_back(*deadline);
  for (const Timeout& timeout : hints.timeouts) {
    if (!timeout.given && timeout.after >= kUsualWorthNoting) deadlines.push_back(timeout.after);
  }
  const bool near = std::any_of(deadlines.begin(), deadlines.end(), [&](Duration deadline) {
    return *wait < deadline &&
           static_cast<double>(wait->count()) >= kNear * static_cast<double>(deadline.count());
  });
  if (near) add_sign(signs, Sign::near_timeout);
}

}  // namespace

std::string_view to_string(Sign sign) {
  switch (sign) {
    case Sign::near_timeout:
      return "answered shortly before a timeout";
    case Sign::hidden_retry:
      return "failed upstream and was retried";
    case Sign::keep_alive_race:
      return "sent when the idle connection was about to be closed";
    case Sign::repeat:
      return "repeats a request that failed";
    case Sign::repeated_unsafe:
      return "sent more than once though not idempotent";
    case Sign::request_cut:
      return "request cut";
    case Sign::upload_cut:
      return "answered before the request was whole, and the rest was not taken";
    case Sign::answer_cut:
      return "answer cut";
    case Sign::slow_connect:
      return "SYN repeated";
    case Sign::retransmitted:
      return "data sent again";
    case Sign::window_closed:
      return "receiver let nothing in";
  }
  return "";
}

std::string_view name_of(Sign sign) {
  switch (sign) {
    case Sign::near_timeout:
      return "near_timeout";
    case Sign::hidden_retry:
      return "hidden_retry";
    case Sign::keep_alive_race:
      return "keep_alive_race";
    case Sign::repeat:
      return "repeat";
    case Sign::repeated_unsafe:
      return "repeated_unsafe";
    case Sign::request_cut:
      return "request_cut";
    case Sign::upload_cut:
      return "upload_cut";
    case Sign::answer_cut:
      return "answer_cut";
    case Sign::slow_connect:
      return "slow_connect";
    case Sign::retransmitted:
      return "retransmitted";
    case Sign::window_closed:
      return "window_closed";
  }
  return "";
}

std::vector<Sign> signs_of(const Chain& chain, const Hints& hints, bool failed) {
  std::vector<Sign> signs;
  signs_of_hop(chain, hints, signs);
  signs_of_chain(chain, hints, failed, signs);
  return signs;
}

}  // namespace gatedrill::replay::explain
