// What waits to be written: a bounded number of rows, from many threads to one.
//
// Threads are spread over shards, each with a lock that is hardly ever contended and never held
// while something is written, so push() does not wait for the disk. Ordinary rows may fill the
// queue only up to a limit; beyond it there is room left for what a report cannot do without:
// failures, transitions, fault hits. What still finds no room is counted by kind.
//
// Totals are counted at push(), before sampling and before the limit, so they are exact whatever
// becomes of the rows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "gateway/core/event.hpp"
#include "reports/tally.hpp"

namespace gatedrill::reports {

class RowQueue {
 public:
  struct Config {
    std::size_t ordinary_rows_max = 196'608;
    std::size_t reserved_rows = 65'536;
    // One of so many requests that ended well keeps its rows, which then stand for all of them.
    std::uint32_t keep_one_ok_in = 1;
  };

  struct Row {
    Event event;
    std::uint32_t weight = 1;
  };

  struct Batch {
    std::vector<Row> rows;
    Tally tally;
  };

  using LostByKind = std::array<std::uint64_t, std::variant_size_v<EventBody>>;

  explicit RowQueue(Config config) : config_(config) {}

  // Any thread. True if the writer had better be woken.
  bool push(const Event& event) noexcept;

  // One thread: everything that came so far.
  Batch take();

  [[nodiscard]] LostByKind lost() const;

 private:
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Row> rows;
    Tally tally;
  };

  static constexpr std::size_t kShards = 16;

  [[nodiscard]] std::uint32_t weight_of(const Event& event) const;

  Config config_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> waiting_{0};
  std::array<std::atomic<std::uint64_t>, std::variant_size_v<EventBody>> lost_{};
};

// What the rows of an event kind are called, by its index in EventBody.
[[nodiscard]] std::string_view kind_name(std::size_t index);

}  // namespace gatedrill::reports
