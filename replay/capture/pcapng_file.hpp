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
//
// A block that is damaged inside is passed over. Where its length is, the next place is looked for
// where two blocks in a row have their lengths at both ends, or one up to the file's end.
#pragma once

#include <cstdint>
#include <optional>
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

  bool operator==(const TimeUnit&) const = default;

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

  [[nodiscard]] std::uint64_t offset() const override { return window_.offset() + used_; }

  std::string take_key_log() override { return std::exchange(key_log_, {}); }

 private:
  struct Interface {
    int link_type = 0;
    std::uint32_t snapshot_bytes = 0;
    TimeUnit time{};
    Drops drops{};

    // Whether packets of the other may be read as if they were of this one.
    [[nodiscard]] bool is_like(const Interface& other) const {
      return link_type == other.link_type && time == other.time;
    }
  };

  // What became of a block.
  enum class Step : std::uint8_t { packet, passed, key_log, quiet, end, wrong };

  Step read_block(Packet& packet);
  Step read_body(std::uint32_t type, std::string_view body, Packet& packet);
  Step ended(ByteWindow::State state);
  // Nothing behind it can be read.
  Step damaged(const std::string& what);
  // The block that was read last is of no use.
  Step pass_damaged(const std::string& what);
  Step lose_place(const std::string& what);
  Step lose_section(const std::string& what);
  Step find_place();
  Step block_at(std::size_t place, ByteOrder& order, std::size_t& length);
  Step lead_on();
  [[nodiscard]] bool is_plausible_packet(std::string_view body) const;
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
  std::optional<UnixTime> latest_{};
  std::size_t used_ = 0;              // bytes of the block that was given last
  std::uint64_t block_at_ = 0;        // where the block begins
  bool begun_ = false;                // the first section has
  std::optional<FileDamage> lost_{};  // while the next place is looked for
  bool only_section_ = false;         // which has to be a section
  bool alike_ = true;                 // all interfaces of this section
  bool numbers_unknown_ = false;      // which interface has which, of this section
  bool blocks_lost_ = false;          // of this section; they may have been interfaces
  bool over_ = false;
  FileEnd end_;
};

}  // namespace gatedrill::replay::capture
