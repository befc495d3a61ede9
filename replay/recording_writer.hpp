// Writes a recording. It grows under a temporary name beside its target, TARGET.partial-PID, and
// takes the target's name only when `finish` has written everything. If the process is killed, the
// partial file can be read up to what was saved last, and its ledger says that it is unfinished.
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
#include "replay/redact/rules.hpp"

namespace gatedrill::replay {

struct RecordingOptions {
  bool keep_secrets = false;
  RedactionRules redaction{};
  // Of the pseudonyms; two recordings under one key have the same. Empty: a random one.
  std::string redaction_key{};
};

// Not thread-safe. After an error from any call only destruction is allowed.
class RecordingWriter {
 public:
  // An existing recording at `path` is replaced by `finish`; any other existing file is refused.
  // Rules that cannot be understood are refused too.
  static Result<RecordingWriter> create(const std::string& path, const RecordingOptions& options);

  RecordingWriter(RecordingWriter&&) noexcept;
  RecordingWriter& operator=(RecordingWriter&&) noexcept;
  // Without `finish`, removes what was written; after an error only if nothing was saved.
  ~RecordingWriter();

  // Returns the exchange's id: its own, or the next free one if that is 0. Its connection is
  // created as still open if `add(RecordedConnection)` has not named it yet.
  Result<std::int64_t> add(RecordedExchange exchange);
  Result<void> add(const RecordedConnection& connection);
  Result<void> add(const RecordedLoss& loss);

  // What was added so far outlives the process from here on. Happens by itself every 10,000
  // exchanges; a slow source should ask for it now and then.
  Result<void> save();

  // Adds its own lines to the ledger (redacted values, stored bodies), then completes the file.
  Result<void> finish(std::span<const LedgerLine> ledger);

 private:
  struct State;
  explicit RecordingWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::replay
