// One finished request as a line of the access log: a JSON object (docs/access-log.md). Pure text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gateway/core/event.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

struct AccessEntry {
  const RequestDone& request;
  std::span<const AttemptDone> attempts;
  UnixTime at;                 // of its arrival
  std::string_view host;       // empty with a head that was not understood, and so is the target
  std::string_view target;     // with its query
  std::string_view reason;     // why it was refused: "length_and_coding"
  std::uint64_t body_in = 0;   // bytes of the request's body, its framing not counted
  std::uint64_t body_out = 0;  // of the answer's
  std::string_view dropped_field{};  // a field that was not sent on for the underscore in its name
};

void append_access_line(std::string& out, NameId gateway, const AccessEntry& entry);

}  // namespace gatedrill::gateway
