// Whether a peer keeps moving bytes at a least rate while it is its turn: a client that sends a
// body, or reads an answer, so slowly that it only holds a place (slowloris in its later forms).
// Time that passes while we or the upstream hold the peer back is not counted.
//
// What is counted is patience: it starts at `grace`, runs out with the time, and grows again with
// each byte by the time that a byte may take, up to `grace`. So the rate holds over any stretch of
// that length, and no fast beginning buys a slow end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

class MinimumRate {
 public:
  struct Config {
    std::uint64_t bytes_per_second = 240;  // 0: any rate will do
    Duration grace = std::chrono::seconds{20};

    bool operator==(const Config&) const = default;
  };

  MinimumRate() : MinimumRate(Config{0, Duration{0}}) {}

  // It is not the peer's turn yet.
  explicit MinimumRate(const Config& config) : config_(config), patience_(config.grace) {}

  // Whether the peer may move bytes now, and nobody else has to first.
  void turn(TimePoint now, bool its_own) {
    settle(now);
    running_ = its_own;
  }

  void on_bytes(TimePoint now, std::uint64_t bytes) {
    if (config_.bytes_per_second == 0) return;
    settle(now);
    // More than that does not count anyway, and would not fit.
    const std::uint64_t counted = std::min(bytes, kBytesMax);
    const Duration earned{
        static_cast<std::int64_t>(counted * 1'000'000'000 / config_.bytes_per_second)};
    patience_ = std::min(config_.grace, patience_ + earned);
  }

  [[nodiscard]] bool running() const { return running_; }

  // When the peer has been too slow; kNever while it is not its turn.
  [[nodiscard]] TimePoint deadline() const {
    return running_ && config_.bytes_per_second > 0 ? at_ + patience_ : kNever;
  }

 private:
  static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 33U;

  void settle(TimePoint now) {
    if (running_ && now > at_) patience_ -= now - at_;
    at_ = std::max(at_, now);
  }

  Config config_;
  Duration patience_;
  TimePoint at_{};
  bool running_ = false;
};

}  // namespace gatedrill::gateway
