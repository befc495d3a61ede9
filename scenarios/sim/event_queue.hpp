// The heart of a simulation: what is to happen, by time and then by the order in which it was asked
// for. The clock jumps from one event to the next; one thread.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::scenarios {

class EventQueue {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] TimePoint now() const { return now_; }

  // Not before now: what is due in the past happens now. kNever never happens.
  void at(TimePoint time, Action action) {
    if (time == kNever) return;
    queue_.push(Entry{time < now_ ? now_ : time, next_number_++, std::move(action)});
  }

  // Plays until nothing is left that is due before `end`.
  void run_until(TimePoint end) {
    while (!queue_.empty() && queue_.top().time < end) {
      // The top is const only to keep the heap in order; it is popped at once.
      Entry entry = std::move(const_cast<Entry&>(queue_.top()));  // NOLINT
      queue_.pop();
      assert(entry.time >= now_);
      now_ = entry.time;
      entry.action();
    }
  }

 private:
  struct Entry {
    TimePoint time;
    std::uint64_t number;
    Action action;
  };

  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };

  TimePoint now_{};
  std::uint64_t next_number_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
};

// Asks again and again: runs `wake` at the time that `next` names, never twice for one time. Call
// `arm` whenever the answer of `next` may have changed.
class Wakeup {
 public:
  Wakeup(EventQueue& queue, std::function<TimePoint()> next, std::function<void()> wake)
      : queue_(queue), next_(std::move(next)), wake_(std::move(wake)) {}

  [[nodiscard]] bool armed() const { return armed_for_ != kNever; }

  void arm() {
    const TimePoint due = next_();
    if (due >= armed_for_) return;
    armed_for_ = due;
    queue_.at(due, [this, due] {
      if (armed_for_ != due) return;  // overtaken by an earlier one
      armed_for_ = kNever;
      wake_();
      arm();
    });
  }

 private:
  EventQueue& queue_;
  std::function<TimePoint()> next_;
  std::function<void()> wake_;
  TimePoint armed_for_ = kNever;
};

}  // namespace gatedrill::scenarios
