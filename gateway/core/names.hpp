// Names as small numbers: routes, upstreams, endpoints, methods, paths. An Event carries a NameId,
// so it is flat and cheap to copy.
//
// One table for the process, append-only, safe from any thread; a thread remembers what it looked
// up, so interning a known name takes no lock. A name's text lives as long as the process.
#pragma once

#include <cstdint>
#include <string_view>

namespace gatedrill {

struct NameId {
  std::uint32_t value = 0;  // 0 is the empty name
  auto operator<=>(const NameId&) const = default;

  explicit operator bool() const { return value != 0; }
};

// The id of a name that the configuration or the code made: bounded by nature.
[[nodiscard]] NameId intern(std::string_view name);

// The same for text that comes from the network (paths, methods): once the table holds a million
// names or 64 MiB of text, unknown ones become "(other)", so that hostile traffic cannot fill the
// memory.
[[nodiscard]] NameId intern_untrusted(std::string_view name);

[[nodiscard]] std::string_view name_of(NameId id);

}  // namespace gatedrill
