#include "reports/row_queue.hpp"

#include <new>

#include "gateway/core/random.hpp"

namespace gatedrill::reports {
namespace {

std::size_t shard_of_this_thread(std::size_t shards) {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine % shards;
}

// Without these rows a report cannot say what happened and why.
bool is_reserved_for(const RequestDone& event) {
  return event.cause != Cause::ok || event.attempts > 1;
}

bool is_reserved_for(const AttemptDone& event) {
  return event.cause != Cause::ok || event.attempt > 1 || event.why_retried;
}

bool is_reserved_for(const SendDone& event) {
  return event.done == kNever || event.status >= 500 || event.error || !event.body_complete;
}

bool is_reserved_for(const Execution& /*event*/) {
  return false;
}

bool is_reserved_for(const Transition& /*event*/) {
  return true;
}

bool is_reserved_for(const ProbeDone& /*event*/) {
  return false;
}

bool is_reserved_for(const Eviction& /*event*/) {
  return true;
}

bool is_reserved_for(const FaultWindow& /*event*/) {
  return true;
}

bool is_reserved_for(const FaultHit& /*event*/) {
  return true;
}

bool is_reserved_for(const ResourceSample& /*event*/) {
  return false;
}

bool is_reserved_for(const Dropped& /*event*/) {
  return true;
}

bool is_reserved_for(const Event& event) {
  return std::visit([](const auto& body) { return is_reserved_for(body); }, event.body);
}

// The requests that may be left out when only some are kept.
const RequestId* sampled_by(const Event& event) {
  if (is_reserved_for(event)) return nullptr;
  if (const auto* request = std::get_if<RequestDone>(&event.body)) return &request->request_id;
  if (const auto* attempt = std::get_if<AttemptDone>(&event.body)) return &attempt->request_id;
  return nullptr;
}

}  // namespace

std::string_view kind_name(std::size_t index) {
  constexpr std::array<std::string_view, std::variant_size_v<EventBody>> kNames{
      "requests",  "attempts", "sends",      "executions", "transitions", "probes",
      "evictions", "faults",   "fault_hits", "resources",  "dropped"};
  return kNames.at(index);
}

// By the request id, so that a request and its attempts are kept or left out together.
std::uint32_t RowQueue::weight_of(const Event& event) const {
  if (config_.keep_one_ok_in <= 1) return 1;
  const RequestId* id = sampled_by(event);
  if (id == nullptr) return 1;
  return stable_hash(id->view()) % config_.keep_one_ok_in == 0 ? config_.keep_one_ok_in : 0;
}

bool RowQueue::push(const Event& event) noexcept {
  Shard& shard = shards_[shard_of_this_thread(kShards)];
  const std::uint32_t weight = weight_of(event);
  const std::lock_guard lock(shard.mutex);
  if (const auto* request = std::get_if<RequestDone>(&event.body)) {
    shard.tally.count(event.gateway, *request);
  }
  if (weight == 0) return false;
  const std::size_t limit =
      config_.ordinary_rows_max + (is_reserved_for(event) ? config_.reserved_rows : 0);
  const std::size_t before = waiting_.fetch_add(1, std::memory_order_relaxed);
  bool fits = before < limit;
  if (fits) {
    try {
      shard.rows.push_back(Row{event, weight});
    } catch (const std::bad_alloc&) {
      fits = false;
    }
  }
  if (!fits) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    lost_[event.body.index()].fetch_add(1, std::memory_order_relaxed);
  }
  return before + 1 == config_.ordinary_rows_max / 8;
}

RowQueue::Batch RowQueue::take() {
  Batch batch;
  for (Shard& shard : shards_) {
    std::vector<Row> rows;
    Tally tally;
    {
      const std::lock_guard lock(shard.mutex);
      rows.swap(shard.rows);
      std::swap(tally, shard.tally);
    }
    waiting_.fetch_sub(rows.size(), std::memory_order_relaxed);
    if (batch.rows.empty()) {
      batch.rows = std::move(rows);
    } else {
      batch.rows.insert(batch.rows.end(), rows.begin(), rows.end());
    }
    batch.tally.merge(tally);
  }
  return batch;
}

RowQueue::LostByKind RowQueue::lost() const {
  LostByKind lost{};
  for (std::size_t kind = 0; kind < lost.size(); ++kind) {
    lost[kind] = lost_[kind].load(std::memory_order_relaxed);
  }
  return lost;
}

}  // namespace gatedrill::reports
