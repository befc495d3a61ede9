// A bounded queue of records between two threads, in one piece of memory: one pushes, one takes.
//
//   ┌──────────┬──────────────┬─ free ─┬──────────────┬──────────┐
//   │ ...tes C │ head D bytes D│        │ head B bytes B│ head C by│   a record may not go round
//   └──────────┴──────────────┴────────┴──────────────┴──────────┘   the end, and skips the rest
//
// A push never waits: without room it says so, and whoever pushes counts what is lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>

namespace gatedrill::replay {

template <class Head>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<Head>);

 public:
  struct Record {
    Head head;
    std::string_view bytes;  // lives until it is popped
  };

  // Memory is only touched as it fills.
  explicit SpscRing(std::size_t bytes)
      : capacity_(padded(bytes)), memory_(new std::byte[capacity_]) {}

  // The pushing thread. False if that would leave less than `reserve` bytes free.
  bool push(const Head& head, std::string_view bytes, std::size_t reserve = 0) {
    const std::size_t total = padded(kOverhead + bytes.size());
    const std::size_t at = pushed_ % capacity_;
    const std::size_t to_end = capacity_ - at;
    const std::size_t skipped = total > to_end ? to_end : 0;
    const std::size_t needed = skipped + total + reserve;
    if (needed > free()) {
      popped_seen_ = popped_.load(std::memory_order_acquire);
      if (needed > free()) return false;
    }
    if (skipped > 0) write(at, {skipped, kSkipped});
    std::byte* place = write(skipped > 0 ? 0 : at, {total, bytes.size()});
    std::memcpy(place, &head, sizeof(Head));
    if (!bytes.empty()) std::memcpy(place + sizeof(Head), bytes.data(), bytes.size());
    pushed_ += skipped + total;
    published_.store(pushed_, std::memory_order_release);
    return true;
  }

  // The taking thread. False if there is none; the same again until pop().
  bool front(Record& record) {
    if (taken_ == published_seen_) {
      published_seen_ = published_.load(std::memory_order_acquire);
      if (taken_ == published_seen_) return false;
    }
    Size size = read(taken_ % capacity_);
    if (size.bytes == kSkipped) {
      taken_ += size.total;
      size = read(0);
    }
    const std::byte* place = memory_.get() + taken_ % capacity_ + sizeof(Size);
    std::memcpy(&record.head, place, sizeof(Head));
    record.bytes = {reinterpret_cast<const char*>(place + sizeof(Head)), size.bytes};
    front_total_ = size.total;
    return true;
  }

  // Requires a front().
  void pop() {
    taken_ += front_total_;
    popped_.store(taken_, std::memory_order_release);
  }

 private:
  // In front of each record; `total` is what it takes up.
  struct Size {
    std::size_t total;
    std::size_t bytes;
  };

  static constexpr std::size_t kSkipped = SIZE_MAX;
  static constexpr std::size_t kOverhead = sizeof(Size) + sizeof(Head);

  // To a multiple of what a Size takes, so that one always fits before the end.
  static constexpr std::size_t padded(std::size_t bytes) {
    return (bytes + sizeof(Size) - 1) / sizeof(Size) * sizeof(Size);
  }

  [[nodiscard]] std::size_t free() const { return capacity_ - (pushed_ - popped_seen_); }

  std::byte* write(std::size_t at, Size size) {
    std::memcpy(memory_.get() + at, &size, sizeof size);
    return memory_.get() + at + sizeof size;
  }

  [[nodiscard]] Size read(std::size_t at) const {
    Size size;
    std::memcpy(&size, memory_.get() + at, sizeof size);
    return size;
  }

  const std::size_t capacity_;
  std::unique_ptr<std::byte[]> memory_;
  // Positions only grow; what each thread writes is apart from what the other does.
  alignas(64) std::size_t pushed_ = 0;
  std::size_t popped_seen_ = 0;
  alignas(64) std::size_t taken_ = 0;
  std::size_t published_seen_ = 0;
  std::size_t front_total_ = 0;
  alignas(64) std::atomic<std::size_t> published_ = 0;
  alignas(64) std::atomic<std::size_t> popped_ = 0;
};

}  // namespace gatedrill::replay
