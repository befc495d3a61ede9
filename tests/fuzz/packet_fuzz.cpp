// Any bytes as a frame of any link type: what is decoded lies inside the frame.
#include <array>

#include "replay/capture/packet.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using gatedrill::fuzz::require;

constexpr std::array kLinkTypes = {0,   1,   9,   12,  14,  50,  51,  101, 104,
                                   108, 113, 147, 219, 228, 229, 239, 276};

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill::replay::capture;
  gatedrill::fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  const int link_type = kLinkTypes[choices.below(kLinkTypes.size())];
  const std::size_t not_captured = choices.byte() * std::size_t{10};
  const std::string_view frame = choices.rest();
  const DecodedPacket packet = decode_frame(link_type, frame, frame.size() + not_captured);
  require(packet.kind == PacketKind::unknown_link || is_known_link_type(link_type),
          "a known link type is read");
  require(lies_in(packet.tcp.payload, frame), "a payload lies in its frame");
  require(packet.tcp.payload.size() <= packet.tcp.payload_bytes, "no more captured than sent");
  require(lies_in(packet.fragment.payload, frame), "a fragment lies in its frame");
  if (packet.kind == PacketKind::fragment) {
    const DecodedPacket inner = decode_datagram(packet.fragment, packet.fragment.payload);
    require(lies_in(inner.tcp.payload, frame), "and so does what is in it");
  }
  return 0;
}
