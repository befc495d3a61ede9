// The live way into run.db: any thread publishes without waiting, one thread writes.
//
//   publish ──► RowQueue ──► writer thread ──► EventStore ──► run.db
//                 └ exact totals ┘
//
// Rows that found no room in the queue are counted; they end up in `dropped` and make the run
// invalid evidence, while every total stays exact.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "reports/event_store.hpp"
#include "reports/row_queue.hpp"

namespace gatedrill::reports {

class QueuedSink final : public EventSink {
 public:
  // Told once, on the writer's thread, when the file takes no more; finish() says it again.
  using OnFailure = std::function<void(const Error& error)>;

  explicit QueuedSink(std::unique_ptr<EventStore> store,
                      RowQueue::Config config = {},
                      OnFailure on_failure = nullptr);
  // Leaves a run.db that says that it was not finished, unless finish() was called.
  ~QueuedSink() override;

  void publish(const Event& event) noexcept override;

  // For the facts and phases of the run, at any time before finish().
  EventStore& store() { return *store_; }

  // Writes what waits and closes the file. Nobody publishes any more.
  Result<void> finish();

 private:
  void write_until_stopped();
  void write_batch();
  void stop();

  std::unique_ptr<EventStore> store_;
  RowQueue queue_;
  OnFailure on_failure_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread writer_;
};

// How commands with `-o run.db` get a sink without knowing SQLite: a factory for them, whose sinks
// finish their file when they are destroyed. Failures are then found here, for the exit status;
// one that comes while events still arrive is told at once.
class SinkFailures {
 public:
  // Called on a writer's thread.
  std::function<void(const Error& error)> on_early_failure;

  void add(Error error);
  [[nodiscard]] std::vector<Error> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Error> errors_;
};

using SinkFactory = std::function<Result<std::unique_ptr<EventSink>>(const std::string& path)>;

// `failures` outlives the sinks. Facts that are the same for every command: `version`, and
// `command` (as name).
[[nodiscard]] SinkFactory sink_factory(SinkFailures& failures,
                                       std::string version,
                                       RowQueue::Config config = {});

}  // namespace gatedrill::reports
