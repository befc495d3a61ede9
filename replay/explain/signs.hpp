// What is suspicious about a request, whether it failed or not. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/explain/chain.hpp"
#include "replay/explain/timeouts.hpp"

namespace gatedrill::replay::explain {

// What is worth a look though, or before, anything fails.
enum class Sign : std::uint8_t {
  near_timeout,     // answered, but hardly before a timeout
  hidden_retry,     // an attempt failed and the client did not notice
  keep_alive_race,  // sent just before the server would have closed the idle connection
  repeat,           // the same request failed just before
  repeated_unsafe,  // a request that must not be repeated reached the upstream more than once
  request_cut,      // the client ended inside its request
  upload_cut,       // answered before it had all of the request, which then ended unfinished
  answer_cut,       // the answer is not whole
  slow_connect,     // a SYN had to be repeated
  retransmitted,    // data had to be sent again
  window_closed,    // a receiver let nothing more in
};

[[nodiscard]] std::string_view to_string(Sign sign);
// As JSON names it: "near_timeout".
[[nodiscard]] std::string_view name_of(Sign sign);

// Of the whole chain, each once. `failed`: its client did not get what it asked for.
[[nodiscard]] std::vector<Sign> signs_of(const Chain& chain, const Hints& hints, bool failed);

}  // namespace gatedrill::replay::explain
