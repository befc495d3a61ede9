// The packets of a pcap file (draft-ietf-opsawg-pcap): one link type, one resolution of time.
//
//   magic, version, -, -, snapshot length, link type │ seconds, fraction, captured, sent, bytes │
//   ...
#pragma once

#include <string>
#include <utility>

#include "replay/capture/byte_order.hpp"
#include "replay/capture/byte_window.hpp"
#include "replay/capture/packet_source.hpp"

namespace gatedrill::replay::capture {

class PcapFile final : public PacketSource {
 public:
  // Whether a file that begins with these four bytes is one.
  [[nodiscard]] static bool begins(std::string_view bytes);
  // `name` is what errors call it.
  static Result<std::unique_ptr<PacketSource>> open(ByteWindow window, const std::string& name);

  explicit PcapFile(ByteWindow window) : window_(std::move(window)) {}

  Result<Next> next(Packet& packet) override;

  [[nodiscard]] FileEnd file_end() const override { return end_; }

 private:
  Next ended(ByteWindow::State state);

  ByteWindow window_;
  ByteOrder order_;
  bool nanoseconds_ = false;
  std::size_t header_bytes_ = 0;  // of a packet
  std::size_t packet_bytes_max_ = 0;
  int link_type_ = 0;
  std::size_t used_ = 0;  // bytes of the packet that was given last
  bool over_ = false;
  FileEnd end_;
};

}  // namespace gatedrill::replay::capture
