// Lets the packets through that a pcap-filter(7) expression takes. It is compiled for each link
// type, since what it looks at lies elsewhere in each.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "replay/capture/bpf_filter.hpp"
#include "replay/capture/packet_source.hpp"

namespace gatedrill::replay::capture {

class FilteredSource final : public PacketSource {
 public:
  FilteredSource(std::unique_ptr<PacketSource> packets, std::string filter);

  // Fails (usage) if the filter is wrong, or means nothing for a packet's link type.
  Result<Next> next(Packet& packet) override;

  [[nodiscard]] Drops drops() const override { return packets_->drops(); }

  [[nodiscard]] FileEnd file_end() const override { return packets_->file_end(); }

  [[nodiscard]] std::uint64_t offset() const override { return packets_->offset(); }

  std::string take_key_log() override { return packets_->take_key_log(); }

 private:
  Result<CompiledFilter> compile(int link_type) const;

  std::unique_ptr<PacketSource> packets_;
  std::string filter_;
  std::map<int, CompiledFilter> programs_;  // by link type
};

}  // namespace gatedrill::replay::capture
