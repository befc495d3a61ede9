// Makes capture files and frames by hand, for tests: TCP conversations over Ethernet and IPv4 (or
// IPv6), as a sniffer between the two would have seen them.
//
//   Conversation talk;
//   talk.handshake();
//   talk.client("GET / HTTP/1.1\r\n\r\n");
//   talk.server("HTTP/1.1 204 No Content\r\n\r\n");
//   talk.close();
//   for (const Frame& frame : talk.frames()) ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::tests {

struct Frame {
  UnixTime at;
  std::string bytes;
  std::size_t wire_bytes = 0;  // 0: all of `bytes`
  int link_type = 1;

  [[nodiscard]] std::size_t wire() const { return wire_bytes == 0 ? bytes.size() : wire_bytes; }
};

// What stands in a TCP segment.
struct SegmentSpec {
  std::uint32_t source_ip = 0x0a000001;
  std::uint32_t destination_ip = 0x0a000002;
  std::uint16_t source_port = 40000;
  std::uint16_t destination_port = 80;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  bool syn = false;
  bool fin = false;
  bool rst = false;
  bool has_ack = true;
  unsigned window = 0xffff;
  std::string payload{};
};

[[nodiscard]] std::string tcp_bytes(const SegmentSpec& spec);
[[nodiscard]] std::string ipv4_packet(const SegmentSpec& spec);
[[nodiscard]] std::string ipv6_packet(const SegmentSpec& spec);
[[nodiscard]] std::string ethernet(std::string_view packet,
                                   std::uint16_t type = 0x0800,
                                   const std::vector<std::uint16_t>& vlans = {});
// A datagram to that port, over IPv4 and Ethernet.
[[nodiscard]] std::string ethernet_udp(unsigned port, std::string_view payload);
// Big-endian numbers.
[[nodiscard]] std::string be16(unsigned value);
[[nodiscard]] std::string be32(std::uint32_t value);

class Conversation {
 public:
  struct Options {
    std::uint32_t client_ip = 0x0a000001;
    std::uint32_t server_ip = 0x0a000002;
    std::uint16_t client_port = 40000;
    std::uint16_t server_port = 80;
    std::uint32_t client_isn = 1000;
    std::uint32_t server_isn = 5000;
    std::size_t segment_bytes = 1460;
    bool acknowledge = true;  // each side answers data with a pure acknowledgement
    std::vector<std::uint16_t> vlans{};
    UnixTime begin{1'700'000'000'000'000'000};
    Duration step = std::chrono::microseconds(100);  // between frames
  };

  Conversation() = default;

  explicit Conversation(Options options)
      : options_(std::move(options)),
        client_next_(options_.client_isn),
        server_next_(options_.server_isn) {}

  void handshake();

  void client(std::string_view bytes) { send(true, bytes); }

  void server(std::string_view bytes) { send(false, bytes); }

  void client_fin() { end(true, false); }

  void server_fin() { end(false, false); }

  void client_reset() { end(true, true); }

  void server_reset() { end(false, true); }

  // FIN from both, the client's first.
  void close();

  void wait(Duration duration) { elapsed_ += duration; }

  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }

 private:
  void send(bool from_client, std::string_view bytes);
  void end(bool from_client, bool reset);
  SegmentSpec segment(bool from_client) const;
  void push(const SegmentSpec& spec);

  Options options_{};
  std::uint32_t client_next_ = Options{}.client_isn;
  std::uint32_t server_next_ = Options{}.server_isn;
  Duration elapsed_{0};
  std::vector<Frame> frames_;
};

// A pcap file's bytes: little-endian, nanoseconds.
[[nodiscard]] std::string pcap_file(const std::vector<Frame>& frames, std::uint32_t link_type = 1);

}  // namespace gatedrill::tests
