// How many connections each client address has, so that one address cannot take all places. One
// for a whole gateway; safe to share between the threads of several shards.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace gatedrill::gateway {

class ClientConnections {
 public:
  // 0: no limit.
  explicit ClientConnections(int max_per_address) : max_(max_per_address) {}

  // A connection's place, given back when it is destroyed. The ClientConnections outlives it.
  class Place {
   public:
    Place(Place&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), address_(std::move(other.address_)) {}

    Place& operator=(Place&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(address_, other.address_);
      return *this;
    }

    ~Place() {
      if (of_ != nullptr) of_->leave(address_);
    }

   private:
    friend class ClientConnections;

    Place(ClientConnections* of, std::string address) : of_(of), address_(std::move(address)) {}

    ClientConnections* of_;
    std::string address_;
  };

  // Nothing if the address has as many as it may.
  [[nodiscard]] std::optional<Place> enter(const std::string& address);

 private:
  void leave(const std::string& address);

  int max_;
  std::mutex mutex_;
  std::unordered_map<std::string, int> counts_;  // of those that have any
};

}  // namespace gatedrill::gateway
