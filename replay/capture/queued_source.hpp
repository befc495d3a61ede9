// Takes packets off their sources on threads of its own, so that a slow disk does not make the
// kernel drop them at once.
//
//   PacketSource ──a thread each──► ring ──┐
//   PacketSource ──a thread each──► ring ──┴──► next(): the earliest that is here
//
// What finds no room in its ring is counted. A source that breaks off (an interface vanishes) does
// not end the others; when the last one has ended, so has this one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "replay/capture/packet_source.hpp"

namespace gatedrill::replay::capture {

class QueuedSource final : public PacketSource {
 public:
  // Of at least one source. Each gets a ring of `queue_bytes`.
  QueuedSource(std::vector<std::unique_ptr<PacketSource>> sources, std::size_t queue_bytes);
  ~QueuedSource() override;

  Result<Next> next(Packet& packet) override;
  // What is stamped later is not taken any more; what is here already still comes, then `end`.
  void stop(UnixTime now) override;
  [[nodiscard]] Drops drops() const override;
  // Which sources broke off, and why.
  [[nodiscard]] FileEnd file_end() const override;

 private:
  class Reader;

  std::vector<std::unique_ptr<Reader>> readers_;
  Reader* given_ = nullptr;  // whose oldest packet was given out last
};

}  // namespace gatedrill::replay::capture
