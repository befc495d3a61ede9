// Bytes on their way to a connection: one buffer that is kept, and how much of it has been written.
#pragma once

#include <string>
#include <string_view>

#include "gateway/net/connection.hpp"

namespace gatedrill::gateway {

class Outbox {
 public:
  // Append here.
  [[nodiscard]] std::string& bytes() { return bytes_; }

  [[nodiscard]] bool empty() const { return sent_ == bytes_.size(); }

  [[nodiscard]] std::size_t pending() const { return bytes_.size() - sent_; }

  void clear() {
    bytes_.clear();
    sent_ = 0;
  }

  // Writes what the connection takes now: how many bytes.
  std::size_t flush(Connection& to) {
    if (empty()) return 0;
    const std::size_t count = to.write(std::string_view(bytes_).substr(sent_));
    sent_ += count;
    if (empty() || sent_ >= kDropBytes) {
      bytes_.erase(0, sent_);
      sent_ = 0;
    }
    return count;
  }

 private:
  // From here on what was sent is dropped although the rest has to move.
  static constexpr std::size_t kDropBytes = std::size_t{64} * 1024;

  std::string bytes_;
  std::size_t sent_ = 0;
};

}  // namespace gatedrill::gateway
