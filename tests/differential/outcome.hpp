// Sends an input through a proxy and says in two lines what became of it.
#pragma once

#include <string>

#include "tests/differential/input.hpp"
#include "tests/differential/proxy.hpp"
#include "tests/differential/recording_origin.hpp"

namespace gatedrill::differential {

struct Outcome {
  std::string
      client;  // the answers and how the connection ended: `400 (malformed_request), closed`
  std::string origin;  // the requests that the origin saw, or `nothing`

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// `client` without the causes, which only we say.
[[nodiscard]] Outcome without_causes(Outcome outcome);

[[nodiscard]] Outcome play(const Input& input,
                           std::uint16_t proxy_port,
                           RecordingOrigin& origin,
                           Sending sending = Sending::whole);

}  // namespace gatedrill::differential
