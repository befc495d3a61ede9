// Round robin over the endpoints that are up. When fewer than panic_percent of them are up, health
// is ignored (Envoy's panic threshold): better some answers than the rest of the capacity crushed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gatedrill::gateway {

class LoadBalancer {
 public:
  struct Config {
    int panic_percent = 50;  // 0: never

    bool operator==(const Config&) const = default;
  };

  struct Choice {
    std::size_t endpoint = 0;
    bool panic = false;  // the endpoint is down and was chosen all the same
  };

  explicit LoadBalancer(const Config& config) : config_(config) {}

  // `up[i]` is non-zero if endpoint i is up; `tried` are endpoints that this request has been sent
  // to already: another one is preferred. Nothing if none is up and there is no panic.
  [[nodiscard]] std::optional<Choice> choose(std::span<const std::uint8_t> up,
                                             std::span<const std::size_t> tried);

 private:
  Config config_;
  std::size_t next_ = 0;
};

}  // namespace gatedrill::gateway
