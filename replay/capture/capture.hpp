// A capture, from packets to a recording:
//
//   Packet ─► decode_frame ─► TcpReassembly ─► TlsReader ─► HttpAssembly ─► ExchangeSink
//                  └─► IpFragments ─┘      KeyLog ─┘    everything counts into ─► Ledger
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/capture/http_assembly.hpp"
#include "replay/capture/ip_fragments.hpp"
#include "replay/capture/ledger.hpp"
#include "replay/capture/packet.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/capture/reasoned_sink.hpp"
#include "replay/capture/tcp_reassembly.hpp"
#include "replay/capture/tls_key_log.hpp"

namespace gatedrill::replay::capture {

struct CaptureOptions {
  std::vector<std::uint16_t> ports{};  // of either end; none: all
  ReassemblyLimits reassembly{};
  HttpLimits http{};
};

// The pure part: frames in, exchanges out. Not thread-safe.
class Capture {
 public:
  // `sink` outlives this object.
  Capture(CaptureOptions options, ExchangeSink& sink);

  // The packet's bytes need only live as long as the call.
  void add(const Packet& packet);
  // The wire is silent, and no packet from before `now` comes any more: what waits for more of them
  // waits no longer than it would while they come.
  void pass(UnixTime now);
  // Closes what is open. Nothing may be added afterwards.
  void finish();

  // The secrets of the TLS connections in it; may grow while it runs.
  [[nodiscard]] KeyLog& key_log() { return keys_; }

  [[nodiscard]] Ledger& ledger() { return ledger_; }

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  void add_decoded(const DecodedPacket& packet, std::size_t wire_bytes, UnixTime at);
  void add_fragment(IpFragment fragment, UnixTime at);
  [[nodiscard]] bool wanted(const TcpSegment& segment) const;

  CaptureOptions options_;
  Ledger ledger_;
  ReasonedSink sink_;
  HttpContext context_;
  KeyLog keys_;
  IpFragments fragments_;
  TcpReassembly reassembly_;
  UnixTime latest_{};
};

}  // namespace gatedrill::replay::capture
