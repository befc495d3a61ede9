#include "reports/queued_sink.hpp"

#include <chrono>
#include <utility>

#include "reports/run_facts.hpp"

namespace gatedrill::reports {
namespace {

constexpr std::chrono::milliseconds kWriteInterval{100};

// Finishes its file at the end of its life, because an EventSink has no other way to say so.
class SelfFinishingSink final : public EventSink {
 public:
  SelfFinishingSink(std::unique_ptr<EventStore> store,
                    RowQueue::Config config,
                    SinkFailures& failures)
      : sink_(std::move(store), config, failures.on_early_failure), failures_(failures) {}

  ~SelfFinishingSink() override {
    if (const Result<void> finished = sink_.finish(); !finished) failures_.add(finished.error());
  }

  void publish(const Event& event) noexcept override { sink_.publish(event); }

 private:
  QueuedSink sink_;
  SinkFailures& failures_;
};

}  // namespace

QueuedSink::QueuedSink(std::unique_ptr<EventStore> store,
                       RowQueue::Config config,
                       OnFailure on_failure)
    : store_(std::move(store)),
      queue_(config),
      on_failure_(std::move(on_failure)),
      writer_([this] { write_until_stopped(); }) {}

QueuedSink::~QueuedSink() {
  stop();
}

void QueuedSink::publish(const Event& event) noexcept {
  if (queue_.push(event)) wake_.notify_one();
}

void QueuedSink::write_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, kWriteInterval);
    lock.unlock();
    write_batch();
    lock.lock();
  }
}

void QueuedSink::write_batch() {
  const RowQueue::Batch batch = queue_.take();
  for (const RowQueue::Row& row : batch.rows)
    store_->add_row(row.event, row.weight);
  if (!batch.tally.empty()) store_->count(batch.tally);
  // A failure is remembered by the store and reported by finish().
  if (const Result<void> flushed = store_->flush(); !flushed && on_failure_) {
    std::exchange(on_failure_, nullptr)(flushed.error());
  }
}

void QueuedSink::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
}

Result<void> QueuedSink::finish() {
  stop();
  write_batch();
  const RowQueue::LostByKind lost = queue_.lost();
  for (std::size_t kind = 0; kind < lost.size(); ++kind) {
    if (lost[kind] == 0) continue;
    const std::string reason =
        "rows of " + std::string(kind_name(kind)) + " found the recorder's queue full";
    store_->add_row(Event{NameId{}, Dropped{intern("recorder"), intern(reason), lost[kind]}}, 1);
  }
  return store_->finish();
}

void SinkFailures::add(Error error) {
  const std::lock_guard lock(mutex_);
  errors_.push_back(std::move(error));
}

std::vector<Error> SinkFailures::all() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

SinkFactory sink_factory(SinkFailures& failures, std::string version, RowQueue::Config config) {
  return [&failures, version = std::move(version),
          config](const std::string& path) -> Result<std::unique_ptr<EventSink>> {
    Result<std::unique_ptr<EventStore>> store = EventStore::create(path);
    if (!store) return store.error();
    (*store)->set_run("version", version);
    (*store)->set_run("simulated", 0);
    (*store)->set_run("started_at", iso_time(SteadyClock().unix_time(TimePoint{})));
    return std::make_unique<SelfFinishingSink>(std::move(*store), config, failures);
  };
}

}  // namespace gatedrill::reports
