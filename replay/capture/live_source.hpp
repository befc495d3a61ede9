// Packets from a network interface, through libpcap.
#pragma once

#include <memory>
#include <string>

#include "replay/capture/packet_source.hpp"

struct pcap;

namespace gatedrill::replay::capture {

class LiveSource final : public PacketSource {
 public:
  // As open_interface.
  static Result<std::unique_ptr<PacketSource>> open(const std::string& name,
                                                    const LiveOptions& options);

  Result<Next> next(Packet& packet) override;
  [[nodiscard]] Drops drops() const override;

 private:
  struct Close {
    void operator()(pcap* handle) const;
  };

  using Handle = std::unique_ptr<pcap, Close>;

  LiveSource(Handle handle, std::string name)
      : handle_(std::move(handle)), name_(std::move(name)) {}

  Handle handle_;
  std::string name_;
};

}  // namespace gatedrill::replay::capture
