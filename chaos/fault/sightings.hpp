// How often a request id has been seen: on the wire, that is its attempt number. One object for all
// links (or all instances) of a variant, because a retry usually takes another one.
//
// It remembers the latest `kept` ids; an older one counts as new. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gatedrill::chaos {

class Sightings {
 public:
  explicit Sightings(std::size_t kept = 100'000) : kept_(kept) {}

  // 1 for the first sight. An empty id is always seen for the first time.
  std::uint32_t see(std::string_view request_id);

 private:
  std::size_t kept_;
  std::unordered_map<std::string, std::uint32_t> counts_;
  std::deque<std::string_view> order_;  // into counts_, whose keys stay where they are
};

}  // namespace gatedrill::chaos
