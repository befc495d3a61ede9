// Segments of two connections in any order, with losses, repetitions, jumps of their numbers and of
// the clock. The byte with sequence number n is n's lowest byte, so it can be told whether what is
// delivered is what was sent: in order, each byte once, and gaps exactly as long as is said.
#include <array>
#include <memory>
#include <string>

#include "replay/capture/tcp_reassembly.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace gatedrill::replay::capture;
using gatedrill::UnixTime;
using gatedrill::fuzz::Choices;
using gatedrill::fuzz::require;

class Checker final : public StreamReader {
 public:
  ~Checker() override { require(closed_, "each stream is told its end"); }

  void on_data(Side from, std::string_view bytes, UnixTime) override {
    require(!closed_ && !bytes.empty(), "there is data");
    Stream& stream = streams_[static_cast<std::size_t>(from)];
    require(!stream.ended, "no data after the end");
    for (const char byte : bytes) {
      const auto value = static_cast<std::uint8_t>(byte);
      require(!stream.next || *stream.next == value, "bytes are delivered in their order");
      stream.next = static_cast<std::uint8_t>(value + 1);
    }
  }

  void on_gap(Side from, std::uint64_t bytes, LossReason, UnixTime) override {
    require(!closed_ && bytes > 0, "a gap has a length");
    Stream& stream = streams_[static_cast<std::size_t>(from)];
    if (stream.next) stream.next = static_cast<std::uint8_t>(*stream.next + bytes);
  }

  void on_end(Side from, UnixTime) override {
    Stream& stream = streams_[static_cast<std::size_t>(from)];
    require(!closed_ && !stream.ended, "one end");
    stream.ended = true;
  }

  void on_closed(const ConnectionEnd&, UnixTime) override {
    require(!closed_, "closed once");
    closed_ = true;
  }

 private:
  struct Stream {
    std::optional<std::uint8_t> next;
    bool ended = false;
  };

  std::array<Stream, 2> streams_;
  bool closed_ = false;
};

std::string bytes_from(std::uint32_t seq, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes)
    byte = static_cast<char>(seq++ & 0xffU);
  return bytes;
}

constexpr std::array<std::int64_t, 8> kJumps = {0,      1,        100,     -100,
                                                70'000, -300'000, 1 << 30, -(1 << 30)};
constexpr std::array<std::int64_t, 4> kSteps = {1'000, 2'000'000'000, -1'000'000'000,
                                                std::int64_t{1} << 50U};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({reinterpret_cast<const char*>(data), size});
  const ReassemblyLimits limits{.held_bytes_per_connection = 4'000,
                                .held_bytes = 6'000,
                                .remembered_bytes = 500,
                                .connections = 3,
                                .gap_segments = 8};
  Ledger ledger;
  TcpReassembly reassembly(
      limits, [](const ConnectionStart&) { return std::make_unique<Checker>(); }, ledger);
  std::array<std::array<std::uint32_t, 2>, 4> next{};  // by connection and side
  UnixTime now{1'700'000'000'000'000'000};
  while (!choices.empty()) {
    const std::uint8_t what = choices.byte();
    const std::uint8_t flags = choices.byte();
    const std::size_t connection = what & 3U;
    const std::size_t side = (what >> 2U) & 1U;
    std::uint32_t& own = next[connection][side];
    own += static_cast<std::uint32_t>(kJumps[what >> 5U]);
    TcpSegment segment;
    segment.source.port = static_cast<std::uint16_t>(side == 0 ? 1000 + connection : 80);
    segment.destination.port = static_cast<std::uint16_t>(side == 0 ? 80 : 1000 + connection);
    segment.syn = (flags & 0x0fU) == 1;
    segment.fin = (flags & 0x0fU) == 2;
    segment.rst = (flags & 0x0fU) == 3;
    segment.has_ack = (flags & 0x10U) != 0;
    segment.seq = own;
    segment.ack = next[connection][1 - side] + ((flags & 0x20U) != 0 ? 50U : 0U);
    const std::size_t count = (what & 0x10U) != 0 ? 0 : 1 + choices.byte() * std::size_t{3};
    const std::string bytes = bytes_from(own + (segment.syn ? 1U : 0U), count);
    const std::size_t cut = (flags & 0x0fU) == 4 ? count / 2 : 0;
    segment.payload = std::string_view(bytes).substr(0, count - cut);
    segment.payload_bytes = static_cast<std::uint32_t>(count);
    if ((flags & 0x40U) == 0) own += static_cast<std::uint32_t>(count);  // else it is sent again
    if (segment.syn || segment.fin) ++own;
    if (flags >> 7U != 0) now.ns += kSteps[choices.below(kSteps.size())];
    reassembly.add(segment, now);
    require(reassembly.held_bytes() <= limits.held_bytes, "what is held is bounded");
    require(reassembly.connections() <= limits.connections, "connections are bounded");
  }
  reassembly.finish();
  require(reassembly.held_bytes() == 0, "nothing is held in the end");
  require(reassembly.connections() == 0, "nothing is open in the end");
  require(ledger.stream.bytes == ledger.delivered.bytes + ledger.duplicate.bytes +
                                     ledger.after_close.bytes + ledger.out_of_window.bytes,
          "the bytes are accounted for");
  return 0;
}
