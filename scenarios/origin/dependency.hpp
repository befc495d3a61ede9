// A service that origins call while they serve a request (a database, a configuration service). It
// is modelled by its latency alone, in named modes that the timeline switches: whoever calls it is
// as slow as it is at that moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/fault/draw.hpp"
#include "gateway/core/distribution.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::scenarios {

class Dependency {
 public:
  struct Mode {
    std::string name;  // such as "normal", "slow"
    Distribution latency;
  };

  // Begins in the first mode; requires one at least.
  Dependency(std::string name, std::vector<Mode> modes, std::uint64_t seed);

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const std::string& mode() const { return modes_[current_].name; }

  // Calls that begin from now on take this mode's time. Fails (usage) on an unknown name.
  Result<void> switch_to(std::string_view mode);

  // How long a call made now takes. Its place in the distribution depends on the seed and on the
  // request (id and attempt) only, so every variant draws alike.
  [[nodiscard]] Duration call(const chaos::RequestSight& request) const;
  // A call on nobody's behalf, as when an instance fills its cache before it is ready.
  [[nodiscard]] Duration call_at_start(std::string_view instance, std::uint64_t start) const;

 private:
  std::string name_;
  std::vector<Mode> modes_;
  std::size_t current_ = 0;
  chaos::Draw draw_;
};

}  // namespace gatedrill::scenarios
