// A number of places that listeners on several threads give away together.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace gatedrill::gateway {

class Places {
 public:
  // `on_free`: there is a place again after somebody found none. Called on the thread that gave it
  // back.
  Places(std::size_t max, std::function<void()> on_free)
      : max_(max), on_free_(std::move(on_free)) {}

  // Takes one, to be given back with leave. False: none is left, and on_free will be called.
  [[nodiscard]] bool enter() {
    if (take()) return true;
    waiting_ = true;
    // One may have been given back by somebody who did not see that we wait.
    return take();
  }

  void leave() {
    --taken_;
    if (waiting_ && waiting_.exchange(false)) on_free_();
  }

  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  bool take() {
    std::size_t taken = taken_;
    while (taken < max_) {
      if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
    }
    return false;
  }

  std::size_t max_;
  std::function<void()> on_free_;
  std::atomic<std::size_t> taken_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace gatedrill::gateway
