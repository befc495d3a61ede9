// The packets of a pcap file (draft-ietf-opsawg-pcap): one link type, one resolution of time.
//
//   magic, version, -, -, snapshot length, link type │ seconds, fraction, captured, sent, bytes │
//   ...
//
// Where a record should begin, another file may: it was appended, and is read on with its header.
// (Behind damage, what looks like a file may lie in a packet.)
//
// A header says how long its packet is, so one that is damaged hides all that follow. Behind it the
// next place is looked for where three headers in a row make sense, or fewer up to the file's end.
#pragma once

#include <cstdint>
#include <optional>
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

  [[nodiscard]] std::uint64_t offset() const override { return window_.offset() + used_; }

 private:
  struct Header {
    std::size_t captured = 0;
    std::size_t sent = 0;
    UnixTime at{};
    bool exact = true;  // its fraction of a second is less than one
  };

  // What is known of a piece of the file; `more`: too little of it has come.
  enum class Verdict : std::uint8_t { good, bad, more };

  Next ended(ByteWindow::State state);
  // Reads the header of the file, or of one appended to it, which is visible.
  void take_file_header();
  // Of as much of one as is visible there.
  [[nodiscard]] bool is_file_header(std::size_t place) const;
  [[nodiscard]] Header header_at(std::size_t place) const;
  // Of the record that is visible from its beginning to its end.
  Verdict judge(const Header& header);
  Verdict judge_jump(std::size_t whole);
  Verdict lead_on(std::size_t place, std::optional<UnixTime> near);
  [[nodiscard]] bool is_plausible(const Header& header, std::optional<UnixTime> near) const;
  void lose_place(std::string what);
  // Moves on to where it makes sense again.
  ByteWindow::State find_place();

  ByteWindow window_;
  ByteOrder order_;
  bool nanoseconds_ = false;
  std::size_t header_bytes_ = 0;  // of a packet
  std::size_t packet_bytes_max_ = 0;
  int link_type_ = 0;
  std::size_t used_ = 0;  // bytes of the packet that was given last
  std::optional<UnixTime> latest_{};
  std::optional<FileDamage> lost_{};  // while the next place is looked for
  bool over_ = false;
  FileEnd end_;
};

}  // namespace gatedrill::replay::capture
