// A run's record in SQLite: run.db.
//
//   create ─► publish / add_row / count, set_run, add_phase … ─► finish
//                 │                                                │
//                 ▼ rows, in transactions of many                  ▼ totals, indices, last of all
//              WAL: the file can be read meanwhile              `valid`; no -wal, no -shm left
//
// A file without the key `valid` in `run` was not finished (killed, disk full) and is no evidence;
// reports say so. `valid` is 1, or 0 with the reasons under `invalid_because`.
//
// Rows keep the order in which they came, so the same events make the same file. A simulation
// publishes straight into the store; live drivers, which must not wait for a disk, go through a
// QueuedSink.
//
// Thread-safe. After the first failure nothing more is written, and finish() reports it.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "reports/tally.hpp"

namespace gatedrill::reports {

class EventStore final : public EventSink {
 public:
  // Replaces an earlier run.db of that name, and nothing else: fails (usage) if the file is
  // something different, (outside) if it cannot be written.
  static Result<std::unique_ptr<EventStore>> create(const std::string& path);
  ~EventStore() override;

  // A row of weight 1, and counted in the totals.
  void publish(const Event& event) noexcept override;

  // For a QueuedSink: a row that stands for `weight` requests, counted elsewhere; and the totals.
  void add_row(const Event& event, std::uint32_t weight) noexcept;
  void count(const Tally& tally);

  // A fact about the run: name, seed, version, simulated, config hashes, live mapping … The later
  // value of a key counts. `duration_ms` is that of the last event unless it is set.
  void set_run(std::string_view key, std::string_view value);
  void set_run(std::string_view key, double value);

  template <std::integral Integer>
  void set_run(std::string_view key, Integer value) {
    set_run_integer(key, static_cast<std::int64_t>(value));
  }

  // A named stretch of the timeline, for `during NAME`: of one variant, or of all.
  void add_phase(std::string_view name, TimePoint from, TimePoint until, NameId gateway = {});

  // The run is no valid evidence, and why (exit 4).
  void invalidate(std::string_view reason);

  // Commits what came so far.
  Result<void> flush();

  // Writes the totals and closes the file; nothing may be added after it.
  Result<void> finish();

  [[nodiscard]] std::optional<Error> failure() const;
  [[nodiscard]] const std::string& path() const;

 private:
  struct State;
  explicit EventStore(std::unique_ptr<State> state);
  void set_run_integer(std::string_view key, std::int64_t value);

  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::reports
