// One request on its way to the upstream: its head and, as the client sends it, its body, framed
// anew. What has been sent is kept as long as it is small enough, so that the request can be sent
// again; a longer body passes through a bounded buffer once.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gateway/http/framing.hpp"
#include "gateway/net/connection.hpp"

namespace gatedrill::gateway {

class Upload {
 public:
  struct Limits {
    std::uint64_t body_bytes_max = 0;  // 0: none
    std::uint32_t replay_bytes_max = 0;
    std::span<const std::string> trailers;  // that pass
  };

  enum class Taken { nothing, something, malformed, too_large };

  // A new request. Returns where its head is to be written.
  std::string& begin(const http::Framing& framing, const Limits& limits);

  // The head is written; at `digit` stands the attempt's number.
  void head_written(std::size_t digit) { digit_ = digit; }

  // Takes what the client has sent of the body, while there is room.
  Taken take(Connection& client);
  // The same without keeping it: for a request that is not sent on.
  Taken discard(Connection& client);

  // Of the body, without its framing.
  [[nodiscard]] std::uint64_t received_bytes() const { return reader_.payload_bytes(); }

  // The whole body has been taken.
  [[nodiscard]] bool received() const { return reader_.done(); }

  // From the first byte again, as attempt number `attempt` (from 1 to 9). Requires replayable().
  void rewind(int attempt);

  [[nodiscard]] bool replayable() const { return replayable_; }

  // Writes what the upstream takes now; true if it took something.
  bool flush(Connection& upstream);

  // Bytes wait to be written.
  [[nodiscard]] bool pending() const { return sent_ < bytes_.size(); }

  // Of the body, its framing not counted.
  [[nodiscard]] std::uint64_t payload_bytes() const { return reader_.payload_bytes(); }

  // The whole request has been written.
  [[nodiscard]] bool sent() const { return received() && !pending(); }

 private:
  static constexpr std::size_t kPendingMax = std::size_t{64} * 1024;

  Taken read(Connection& client, bool keep);

  std::string bytes_;
  std::size_t sent_ = 0;
  std::size_t digit_ = 0;
  http::BodyReader reader_;
  bool chunked_ = false;
  bool replayable_ = true;
  std::string trailers_;  // lines to go behind the last chunk
  Limits limits_;
};

}  // namespace gatedrill::gateway
