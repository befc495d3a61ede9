#include "chaos/fault/sightings.hpp"

namespace gatedrill::chaos {

std::uint32_t Sightings::see(std::string_view request_id) {
  if (request_id.empty()) return 1;
  const auto [entry, added] = counts_.try_emplace(std::string(request_id), 0);
  if (added) {
    order_.push_back(entry->first);
    if (order_.size() > kept_) {
      counts_.erase(counts_.find(std::string(order_.front())));
      order_.pop_front();
    }
  }
  return ++entry->second;
}

}  // namespace gatedrill::chaos
