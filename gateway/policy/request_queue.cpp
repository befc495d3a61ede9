#include "gateway/policy/request_queue.hpp"

#include <algorithm>
#include <utility>

namespace gatedrill::gateway {

std::optional<RequestQueue::Ticket> RequestQueue::join(std::size_t shard) {
  if (waiting_.size() >= max_) return std::nullopt;
  waiting_.push_back({++last_, shard});
  return last_;
}

bool RequestQueue::grant() {
  if (waiting_.empty()) return false;
  granted_.push_back(waiting_.front());
  waiting_.pop_front();
  return true;
}

bool RequestQueue::leave(Ticket ticket) {
  const auto found = find(ticket);
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

bool RequestQueue::waits(Ticket ticket) const {
  return find(ticket) != waiting_.end();
}

std::vector<RequestQueue::Grant> RequestQueue::take_granted() {
  return std::exchange(granted_, {});
}

std::deque<RequestQueue::Grant>::const_iterator RequestQueue::find(Ticket ticket) const {
  const auto found =
      std::lower_bound(waiting_.begin(), waiting_.end(), ticket,
                       [](const Grant& each, Ticket wanted) { return each.ticket < wanted; });
  return found != waiting_.end() && found->ticket == ticket ? found : waiting_.end();
}

}  // namespace gatedrill::gateway
