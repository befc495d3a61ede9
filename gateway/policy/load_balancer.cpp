#include "gateway/policy/load_balancer.hpp"

#include <algorithm>

namespace gatedrill::gateway {

std::optional<LoadBalancer::Choice> LoadBalancer::choose(std::span<const std::uint8_t> up,
                                                         std::span<const std::size_t> tried) {
  const std::size_t size = up.size();
  const auto down_count = static_cast<std::size_t>(std::count(up.begin(), up.end(), 0));
  const std::size_t up_count = size - down_count;
  const bool panic = up_count * 100 < static_cast<std::size_t>(config_.panic_percent) * size;
  if (up_count == 0 && !panic) return std::nullopt;

  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t endpoint = (next_ + i) % size;
    if (!panic && up[endpoint] == 0) continue;
    const bool was_tried = std::find(tried.begin(), tried.end(), endpoint) != tried.end();
    if (was_tried && found) continue;
    found = endpoint;
    if (!was_tried) break;
  }
  if (!found) return std::nullopt;
  next_ = (*found + 1) % size;
  return Choice{*found, up[*found] == 0};
}

}  // namespace gatedrill::gateway
