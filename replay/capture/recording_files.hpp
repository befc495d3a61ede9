// The file or files that a capture writes: one, or one after the other.
//
//   traffic.db                                             without rotation
//   traffic-20261130T134700Z-1.db, traffic-2026...-2.db    with it: when each was begun, and its
//                                                          place in this capture
//
// Each is a whole recording with a ledger of its own, which says what came from the file before and
// is left for the next one. An exchange is written when it ends, so one
// that straddles a change of files is whole in the later one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "replay/recording_writer.hpp"

namespace gatedrill::replay::capture {

struct Rotation {
  std::optional<Duration> every{};
  std::uint64_t bytes = 0;  // about; 0: as large as it becomes
  int keep = 0;             // the newest so many of this capture; 0: all

  [[nodiscard]] bool on() const { return every.has_value() || bytes > 0; }
};

class RecordingFiles {
 public:
  // Of a capture so far.
  struct Account {
    std::vector<LedgerLine> total{};
    std::vector<LedgerLine> pending{};  // see Ledger::pending
  };

  static Result<RecordingFiles> create(const std::string& path,
                                       const RecordingOptions& options,
                                       const Rotation& rotation,
                                       UnixTime now);

  // Of the current file.
  [[nodiscard]] RecordingWriter& writer() { return *writer_; }

  // Whether it is old or large enough. Asked now and then.
  [[nodiscard]] bool due(UnixTime now) const;

  // Completes the current file, begins the next and removes the oldest beyond `keep`.
  Result<void> rotate(const Account& account, UnixTime now);
  // Completes the last file.
  Result<void> finish(const Account& account);

  // Of files that are complete and still there, in order.
  [[nodiscard]] const std::deque<std::string>& complete() const { return complete_; }

  // Why no more can be written soon: the disk is nearly full. Empty while all is well.
  [[nodiscard]] std::string shortage() const;

  // How large the current file is, about.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  RecordingFiles(std::string path, RecordingOptions options, Rotation rotation)
      : path_(std::move(path)), options_(std::move(options)), rotation_(rotation) {}

  Result<void> begin(UnixTime now);
  [[nodiscard]] std::string name_at(UnixTime now) const;

  std::string path_;
  RecordingOptions options_;
  Rotation rotation_;
  std::optional<RecordingWriter> writer_;
  std::string current_;
  UnixTime begun_{};
  int number_ = 0;
  Account before_;  // when the current file was begun
  std::deque<std::string> complete_;
};

// What a ledger has gained: both are of the same capture, `before` earlier.
[[nodiscard]] std::vector<LedgerLine> gained(const std::vector<LedgerLine>& total,
                                             const std::vector<LedgerLine>& before);

}  // namespace gatedrill::replay::capture
