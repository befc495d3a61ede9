// One tapped connection on its way into the recording: the gateway's events as the two streams that
// HttpAssembly reads, with what is known of the connection itself.
#pragma once

#include <memory>
#include <string_view>

#include "replay/capture/http_assembly.hpp"
#include "replay/recording.hpp"
#include "replay/tap/shard_tap.hpp"

namespace gatedrill::replay {

class TappedStream {
 public:
  // From its `opened` event. `context` outlives it.
  TappedStream(const TapEvent& opened, std::string_view addresses, capture::HttpContext& context);

  // Any later one. Returns false after the last.
  bool take(const TapEvent& event, std::string_view bytes);
  // The recording ends and the connection does not.
  void leave_open(UnixTime at);

  // Adds what the assembly cannot know.
  void describe(RecordedConnection& connection) const;

 private:
  void take_bytes(capture::Side from, std::uint64_t place, std::string_view bytes, UnixTime at);
  void miss_until(capture::Side from, std::uint64_t place, UnixTime at);
  void end(const TapEvent& event);
  void close(capture::CloseKind how, UnixTime at);

  [[nodiscard]] capture::Side peer() const {
    return accepted_ ? capture::Side::first : capture::Side::second;
  }

  // Side::first is the client: whoever opened it.
  bool accepted_;
  capture::HttpContext& context_;
  std::unique_ptr<capture::HttpAssembly> http_;
  std::array<std::uint64_t, 2> places_{};
  std::array<RecordedSide, 2> sides_{};
  std::optional<UnixTime> connected_;
  bool was_reset_ = false;
  capture::ConnectionEnd end_;
};

}  // namespace gatedrill::replay
