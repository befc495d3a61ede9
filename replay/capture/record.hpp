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
#include "replay/capture/recording_files.hpp"
#include "replay/capture/tls_key_log.hpp"

namespace gatedrill::replay::capture {

struct RecordOptions {
  CaptureOptions capture{};
  std::optional<Duration> duration{};        // of the packets in a file, of real time live
  std::optional<std::uint64_t> exchanges{};  // ends soon after so many
  bool live = false;
  // What a replay of ours sends is counted, not recorded (without_replays.hpp).
  bool leave_out_replays = false;
  // Of TLS; may be null. Live, it is followed, and may begin to exist later.
  KeyLogFile* key_log = nullptr;
};

struct RecordProgress {
  std::uint64_t packets = 0;
  std::uint64_t exchanges = 0;
  PacketSource::Drops drops{};
  std::uint64_t file_bytes = 0;
  std::size_t files = 0;  // that are complete
  std::string damage{};   // what has broken off so far
};

struct RecordReport {
  Ledger ledger;  // of all files
  std::uint64_t exchanges = 0;
  std::string key_log_problem;     // why secrets may be missing that the log should have
  std::string shortage;            // why it ended early: the disk is nearly full
  std::vector<std::string> files;  // that were written and are still there
  std::string damage;  // why the file could not be read to its end, if not because it breaks off
};

// `stop` ends it early; live, what was captured before that is still recorded, and of a file the
// ledger says how far it was read. `progress` is called
// about once a second. The files are complete, unless there was no packet at all or an error comes
// back, which those before the last survive.
[[nodiscard]] Result<RecordReport> record(
    PacketSource& source,
    RecordingFiles files,
    const RecordOptions& options,
    const Clock& clock,
    const std::atomic<bool>& stop,
    const std::function<void(const RecordProgress&)>& progress);

}  // namespace gatedrill::replay::capture
