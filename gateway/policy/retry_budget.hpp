// How many retries an upstream can stand: at most max(min_concurrent, percent of the active
// requests) at once, those in back-off included, and on average `percent` per request by a bucket
// into which every request pays (gateway reference 2.2). Integers: one retry costs 100, a request
// pays percent.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gatedrill::gateway {

class RetryBudget {
 public:
  struct Config {
    int percent = 10;
    int min_concurrent = 3;
    int burst = 10;  // retries that a quiet spell saves up

    bool operator==(const Config&) const = default;
  };

  explicit RetryBudget(const Config& config)
      : config_(config), balance_(static_cast<std::int64_t>(config.burst) * kCost) {}

  void on_request() {
    balance_ =
        std::min(balance_ + config_.percent, static_cast<std::int64_t>(config_.burst) * kCost);
  }

  // Takes a retry out of the budget; `active` is the number of requests at the upstream now.
  // Exactly one finish() follows a true.
  [[nodiscard]] bool try_start(int active) {
    const int limit = std::max(config_.min_concurrent, active * config_.percent / 100);
    if (in_flight_ >= limit || balance_ < kCost) return false;
    balance_ -= kCost;
    ++in_flight_;
    return true;
  }

  void finish() { --in_flight_; }

  [[nodiscard]] int in_flight() const { return in_flight_; }

 private:
  static constexpr std::int64_t kCost = 100;
  Config config_;
  std::int64_t balance_;
  int in_flight_ = 0;
};

}  // namespace gatedrill::gateway
