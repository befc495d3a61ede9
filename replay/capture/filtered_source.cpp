#include "replay/capture/filtered_source.hpp"

#include <utility>

#include <pcap/pcap.h>

#include "replay/capture/packet.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr int kSnapshotBytes = 262'144;
// In files the type of bare IP packets has a number of its own.
constexpr int kRawInFiles = 101;

struct ClosePcap {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};

}  // namespace

FilteredSource::FilteredSource(std::unique_ptr<PacketSource> packets, std::string filter)
    : packets_(std::move(packets)), filter_(std::move(filter)) {}

Result<CompiledFilter> FilteredSource::compile(int link_type) const {
  const int type = link_type == kRawInFiles ? DLT_RAW : link_type;
  const std::unique_ptr<pcap_t, ClosePcap> pcap(pcap_open_dead(type, kSnapshotBytes));
  if (!pcap) return outside_error("filter '" + filter_ + "': there is no memory for it");
  return compile_filter(pcap.get(), filter_);
}

Result<PacketSource::Next> FilteredSource::next(Packet& packet) {
  for (;;) {
    auto next = packets_->next(packet);
    if (!next || *next != Next::packet) return next;
    if (!is_known_link_type(packet.link_type)) return next;  // the account names it
    CompiledFilter& program = programs_[packet.link_type];
    if (!program) {
      auto compiled = compile(packet.link_type);
      if (!compiled) return compiled.error();
      program = std::move(*compiled);
    }
    const auto captured = static_cast<bpf_u_int32>(packet.bytes.size());
    const pcap_pkthdr header{
        .ts = {}, .caplen = captured, .len = static_cast<bpf_u_int32>(packet.wire_bytes)};
    const auto* bytes = reinterpret_cast<const u_char*>(packet.bytes.data());
    if (pcap_offline_filter(program.get(), &header, bytes) != 0) return next;
  }
}

}  // namespace gatedrill::replay::capture
