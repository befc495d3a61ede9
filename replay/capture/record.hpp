// Runs a capture from its source into a recording, until the source ends or somebody stops it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "replay/capture/capture.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/recording_writer.hpp"

namespace gatedrill::replay::capture {

struct RecordOptions {
  CaptureOptions capture{};
  std::optional<Duration> duration{};        // of the packets in a file, of real time live
  std::optional<std::uint64_t> exchanges{};  // ends soon after so many
  bool live = false;
  // Of TLS (tls_key_log.hpp); none if empty. Live, it is followed, and may begin to exist later.
  std::string key_log{};
};

struct RecordProgress {
  std::uint64_t packets = 0;
  std::uint64_t exchanges = 0;
  std::uint64_t kernel_drops = 0;
};

struct RecordReport {
  Ledger ledger;
  std::uint64_t exchanges = 0;
  std::string key_log_problem;  // why secrets may be missing that the log should have
  std::string damage;  // why the file could not be read to its end, if not because it breaks off
};

// `stop` ends it early; `progress` is called about once a second. The writer is finished, unless
// there was no packet at all or an error comes back.
[[nodiscard]] Result<RecordReport> record(
    PacketSource& source,
    RecordingWriter writer,
    const RecordOptions& options,
    const Clock& clock,
    const std::atomic<bool>& stop,
    const std::function<void(const RecordProgress&)>& progress);

}  // namespace gatedrill::replay::capture
