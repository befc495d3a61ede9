// Writes a recording. It grows under a temporary name beside its target and takes the target's
// name only when `finish` has written everything; until then, and after any failure, there is no
// file that looks whole.
//
//   auto writer = RecordingWriter::create("traffic.db", {});
//   writer->add(exchange); writer->add(connection); ...
//   writer->finish(ledger);
//
// Unless told to keep them, secrets are replaced before they reach the file (redact.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gateway/core/result.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay {

struct RecordingOptions {
  bool keep_secrets = false;
};

// Not thread-safe. After an error from any call only destruction is allowed.
class RecordingWriter {
 public:
  // An existing recording at `path` is replaced by `finish`; any other existing file is refused.
  static Result<RecordingWriter> create(const std::string& path, const RecordingOptions& options);

  RecordingWriter(RecordingWriter&&) noexcept;
  RecordingWriter& operator=(RecordingWriter&&) noexcept;
  // Without `finish`, removes what was written.
  ~RecordingWriter();

  // Returns the exchange's id: its own, or the next free one if that is 0. Its connection is
  // created as still open if `add(RecordedConnection)` has not named it yet.
  Result<std::int64_t> add(RecordedExchange exchange);
  Result<void> add(const RecordedConnection& connection);
  Result<void> add(const RecordedLoss& loss);

  // Adds its own lines to the ledger (redacted values, stored bodies), then completes the file.
  Result<void> finish(std::span<const LedgerLine> ledger);

 private:
  struct State;
  explicit RecordingWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::replay
