// Requests that wait for a place at an upstream which is full: first come, first served, so many at
// most. How long each waits is its exchange's affair.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

struct QueueConfig {
  int max = 0;  // that may wait at once; 0: none does
  Duration timeout = std::chrono::seconds{1};

  bool operator==(const QueueConfig&) const = default;
};

class RequestQueue {
 public:
  using Ticket = std::uint64_t;

  // Somebody's turn has come. `shard` is the one it waits at.
  struct Grant {
    Ticket ticket = 0;
    std::size_t shard = 0;
  };

  explicit RequestQueue(const QueueConfig& config) : max_(static_cast<std::size_t>(config.max)) {}

  // Nothing: too many wait already.
  [[nodiscard]] std::optional<Ticket> join(std::size_t shard);
  // A place is free and given to the first that waits. False: nobody does.
  bool grant();
  // It waits no longer. False: it did not, since it had been given a place.
  bool leave(Ticket ticket);

  // Not given a place yet.
  [[nodiscard]] bool waits(Ticket ticket) const;

  // Who was given a place since the last call and is to be told, in order.
  [[nodiscard]] std::vector<Grant> take_granted();

 private:
  [[nodiscard]] std::deque<Grant>::const_iterator find(Ticket ticket) const;

  std::size_t max_;
  Ticket last_ = 0;
  std::deque<Grant> waiting_;  // by ticket
  std::vector<Grant> granted_;
};

}  // namespace gatedrill::gateway
