// The packets of a pcapng file (draft-ietf-opsawg-pcapng): blocks in sections, each section with
// its own byte order and interfaces, each interface with its own link type and resolution of time.
//
//   section ─┬─ interface 0, 1, ...
//            ├─ packets (enhanced, simple, of the old kind)
//            ├─ decryption secrets ──► take_key_log()
//            ├─ interface statistics ──► drops()
//            └─ anything else: passed over by its length
//
// A simple packet has no time: it gets that of the packet before it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "replay/capture/byte_order.hpp"
#include "replay/capture/byte_window.hpp"
#include "replay/capture/packet_source.hpp"

namespace gatedrill::replay::capture {

// How an interface counts time.
class TimeUnit {
 public:
  TimeUnit() = default;  // microseconds since 1970
  // `resolution` as in if_tsresol: 10^-n seconds, or 2^-n with the highest bit set. `offset_s` is
  // added to every time.
  TimeUnit(std::uint8_t resolution, std::int64_t offset_s);

  // What UnixTime cannot hold becomes its nearest.
  [[nodiscard]] UnixTime time(std::uint64_t ticks) const;

 private:
  std::uint64_t divisor_ = 1;  // of ticks too fine to count; 0: all of them are
  std::uint64_t per_second_ = 1'000'000;
  std::int64_t offset_s_ = 0;
};

class PcapngFile final : public PacketSource {
 public:
  // Whether a file that begins with these four bytes is one.
  [[nodiscard]] static bool begins(std::string_view bytes);
  // `name` is what errors call it.
  static Result<std::unique_ptr<PacketSource>> open(ByteWindow window, const std::string& name);

  explicit PcapngFile(ByteWindow window) : window_(std::move(window)) {}

  Result<Next> next(Packet& packet) override;
  [[nodiscard]] Drops drops() const override;

  [[nodiscard]] FileEnd file_end() const override { return end_; }

  std::string take_key_log() override { return std::exchange(key_log_, {}); }

 private:
  struct Interface {
    int link_type = 0;
    std::uint32_t snapshot_bytes = 0;
    TimeUnit time{};
    Drops drops{};
  };

  // What became of a block.
  enum class Step : std::uint8_t { packet, passed, key_log, quiet, end };

  Step read_block(Packet& packet);
  Step read_body(std::uint32_t type, std::string_view body, Packet& packet);
  Step ended(ByteWindow::State state);
  Step damaged(const std::string& what);
  Step begin_section(std::string_view body);
  Step add_interface(std::string_view body);
  Step add_statistics(std::string_view body);
  Step add_secrets(std::string_view body);
  Step take_packet(std::uint32_t interface, std::string_view body, Packet& packet);
  Step take_simple_packet(std::string_view body, Packet& packet);

  ByteWindow window_;
  ByteOrder order_;
  std::vector<Interface> interfaces_;  // of this section
  Drops drops_;                        // of the sections before
  std::string key_log_;
  std::size_t key_log_bytes_ = 0;  // in all
  UnixTime latest_{};
  std::size_t used_ = 0;        // bytes of the block that was given last
  std::uint64_t skipping_ = 0;  // what is left of a block that is passed over
  std::uint64_t block_at_ = 0;  // where the block begins
  bool over_ = false;
  FileEnd end_;
};

}  // namespace gatedrill::replay::capture
