// The packets of a capture that is being written: what is due waits in a queue by time, and a
// packet gets its numbers when it leaves. Private to the format.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "replay/formats/output.hpp"
#include "replay/formats/pcap.hpp"

namespace gatedrill::replay::formats {

enum class From : std::uint8_t { client, server };

// One direction of a connection.
struct Way {
  Endpoint source;
  std::uint32_t next = 0;    // sequence number
  std::uint32_t queued = 0;  // packets that have not left
  // Of what was queued last.
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  std::uint32_t unacknowledged = 0;  // segments
  bool ends = false;                 // a FIN is planned
  bool closed = false;               // it has left
};

// One TCP connection in the file.
struct Flow {
  std::int64_t connection = 0;  // the recorded one
  Way client;
  Way server;
  bool usable = true;  // for another exchange
  bool over = false;   // reset, or closed from both sides

  Way& way(From side) { return side == From::client ? client : server; }
};

using FlowPointer = std::shared_ptr<Flow>;

class PacketSchedule {
 public:
  // `on_over` is told of each connection that has ended. `output` outlives this object.
  PacketSchedule(Output& output, std::function<void(const Flow&)> on_over)
      : output_(output), on_over_(std::move(on_over)) {}

  void handshake(const FlowPointer& flow,
                 std::int64_t syn_ns,
                 std::int64_t answer_ns,
                 std::int64_t established_ns);
  // A packet without data. Nothing of one side leaves before what was queued of it earlier.
  void push(const FlowPointer& flow, From from, std::int64_t at_ns, TcpFlags flags);
  // In segments, the first byte at `begin_ns` and the last at `end_ns`.
  void push_bytes(const FlowPointer& flow,
                  From from,
                  const std::shared_ptr<const std::string>& bytes,
                  std::int64_t begin_ns,
                  std::int64_t end_ns);
  // A FIN or RST at its time, but not before what its side, or in a reset both, have queued by
  // then.
  void plan(const FlowPointer& flow, From from, std::int64_t at_ns, TcpFlags flags);

  // Writes what is due before a time.
  void send_until(std::int64_t until_ns);
  void send_all();

  // Of the data that wait.
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  struct Due {
    std::int64_t at_ns = 0;
    std::uint64_t order = 0;  // of equal times
    FlowPointer flow{};
    From from = From::client;
    TcpFlags flags{};
    std::shared_ptr<const std::string> bytes{};
    std::size_t begin = 0;
    std::size_t size = 0;
    bool planned = false;  // it may wait

    bool operator>(const Due& b) const {
      return std::tie(at_ns, order) > std::tie(b.at_ns, b.order);
    }
  };

  void push(Due due);
  void wait(Due due);
  void send_next();
  bool waits(const Due& due);
  void acknowledge(const Due& due);
  void write(
      Flow& flow, From from, const TcpFlags& flags, std::string_view payload, std::int64_t at_ns);

  Output& output_;
  std::function<void(const Flow&)> on_over_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> queue_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t order_ = 0;
  std::uint16_t ip_id_ = 0;
};

}  // namespace gatedrill::replay::formats
