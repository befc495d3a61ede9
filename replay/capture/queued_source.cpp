#include "replay/capture/queued_source.hpp"

#include <atomic>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "replay/spsc_ring.hpp"

namespace gatedrill::replay::capture {
namespace {

// How long `next` rests when nothing is there.
constexpr std::chrono::milliseconds kRest{10};
// The source's drops are asked for once for this many packets.
constexpr std::uint64_t kPacketsPerLook = 1024;
// After a stop: the kernel may hold packets back for twice as long as a source waits for them.
constexpr int kQuietAtEnd = 3;
constexpr std::int64_t kNotStopped = std::numeric_limits<std::int64_t>::max();

struct Head {
  UnixTime at{};
  std::size_t wire_bytes = 0;
  int link_type = 0;
};

}  // namespace

class QueuedSource::Reader {
 public:
  Reader(std::unique_ptr<PacketSource> source, std::size_t queue_bytes)
      : source_(std::move(source)), ring_(queue_bytes), thread_([this] { run(); }) {}

  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  ~Reader() {
    stop({0});
    thread_.join();
  }

  void stop(UnixTime last) { stop_at_.store(last.ns, std::memory_order_relaxed); }

  bool front(SpscRing<Head>::Record& record) { return ring_.front(record); }

  void pop() { ring_.pop(); }

  // Once its thread has put in all that it will.
  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }

  [[nodiscard]] Drops drops() const {
    return {.kernel = kernel_.load(std::memory_order_relaxed),
            .interface = interface_.load(std::memory_order_relaxed),
            .queue = queue_.load(std::memory_order_relaxed)};
  }

  // After the end.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  void run() {
    read_all();
    look_at_drops();
    ended_.store(true, std::memory_order_release);
  }

  void read_all() {
    int quiet_after_stop = 0;
    for (std::uint64_t packets = 0;;) {
      Packet packet;
      const auto next = source_->next(packet);
      if (!next) {
        damage_ = next.error().message;
        return;
      }
      if (*next == Next::end) {
        damage_ = source_->file_end().damage;
        return;
      }
      const std::int64_t last = stop_at_.load(std::memory_order_relaxed);
      if (*next == Next::quiet) {
        if (last != kNotStopped && ++quiet_after_stop == kQuietAtEnd) return;
        look_at_drops();
        continue;
      }
      if (packet.at.ns > last) return;
      quiet_after_stop = 0;
      if (!ring_.push({packet.at, packet.wire_bytes, packet.link_type}, packet.bytes)) {
        queue_.fetch_add(1, std::memory_order_relaxed);
      }
      if (++packets % kPacketsPerLook == 0) look_at_drops();
    }
  }

  void look_at_drops() {
    const Drops drops = source_->drops();
    kernel_.store(drops.kernel, std::memory_order_relaxed);
    interface_.store(drops.interface, std::memory_order_relaxed);
  }

  std::unique_ptr<PacketSource> source_;
  SpscRing<Head> ring_;
  std::string damage_;
  std::atomic<std::int64_t> stop_at_ = kNotStopped;
  std::atomic<std::uint64_t> kernel_ = 0;
  std::atomic<std::uint64_t> interface_ = 0;
  std::atomic<std::uint64_t> queue_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

QueuedSource::QueuedSource(std::vector<std::unique_ptr<PacketSource>> sources,
                           std::size_t queue_bytes) {
  for (auto& source : sources)
    readers_.push_back(std::make_unique<Reader>(std::move(source), queue_bytes));
}

QueuedSource::~QueuedSource() = default;

Result<PacketSource::Next> QueuedSource::next(Packet& packet) {
  if (given_ != nullptr) std::exchange(given_, nullptr)->pop();
  for (const bool rested : {false, true}) {
    std::optional<UnixTime> earliest;
    bool ended = true;
    for (const auto& reader : readers_) {
      const bool last = reader->ended();  // before the look: nothing comes after it
      SpscRing<Head>::Record record;
      if (!reader->front(record)) {
        ended = ended && last;
        continue;
      }
      ended = false;
      if (earliest && *earliest <= record.head.at) continue;
      earliest = record.head.at;
      packet = {record.head.at, record.bytes, record.head.wire_bytes, record.head.link_type};
      given_ = reader.get();
    }
    if (given_ != nullptr) return Next::packet;
    if (ended) return Next::end;
    if (!rested) std::this_thread::sleep_for(kRest);
  }
  return Next::quiet;
}

void QueuedSource::stop(UnixTime now) {
  for (const auto& reader : readers_)
    reader->stop(now);
}

PacketSource::Drops QueuedSource::drops() const {
  Drops all;
  for (const auto& reader : readers_) {
    const Drops its = reader->drops();
    all.kernel += its.kernel;
    all.interface += its.interface;
    all.queue += its.queue;
  }
  return all;
}

FileEnd QueuedSource::file_end() const {
  FileEnd end;
  for (const auto& reader : readers_) {
    if (!reader->ended() || reader->damage().empty()) continue;
    if (!end.damage.empty()) end.damage += "; ";
    end.damage += reader->damage();
  }
  return end;
}

}  // namespace gatedrill::replay::capture
