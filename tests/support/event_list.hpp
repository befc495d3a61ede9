// The events that something published, for tests. Safe from any thread.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "gateway/core/event.hpp"

namespace gatedrill::testing {

class EventList final : public EventSink {
 public:
  void publish(const Event& event) noexcept override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }

  template <class Body>
  [[nodiscard]] std::vector<Body> of() const {
    const std::lock_guard lock(mutex_);
    std::vector<Body> found;
    for (const Event& event : events_) {
      if (const Body* body = std::get_if<Body>(&event.body)) found.push_back(*body);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace gatedrill::testing
