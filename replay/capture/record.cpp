#include "replay/capture/record.hpp"

#include <filesystem>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

// The clock is looked at once for this many packets.
constexpr std::uint64_t kPacketsPerLook = 4096;
constexpr Duration kProgressEvery = std::chrono::seconds(1);

// Hands everything to the writer and keeps the first failure.
class WriterSink final : public ExchangeSink {
 public:
  explicit WriterSink(RecordingWriter& writer) : writer_(writer) {}

  void on_exchange(RecordedExchange exchange) override {
    if (failure) return;
    ++exchanges;
    if (auto added = writer_.add(std::move(exchange)); !added) failure = added.error();
  }

  void on_connection(const RecordedConnection& connection) override {
    if (failure) return;
    if (auto added = writer_.add(connection); !added) failure = added.error();
  }

  void on_loss(const RecordedLoss& loss) override {
    if (failure) return;
    if (auto added = writer_.add(loss); !added) failure = added.error();
  }

  std::uint64_t exchanges = 0;
  std::optional<Error> failure;

 private:
  RecordingWriter& writer_;
};

// The key log of a capture: whole before a file's first packet; live, what is new in it whenever a
// secret is missed.
class Keys {
 public:
  Keys(const RecordOptions& options, KeyLog& log)
      : file_(options.key_log), log_(log), live_(options.live) {}

  Result<void> begin() {
    if (file_.path().empty()) return {};
    if (!live_) return file_.read_into(log_, true);
    log_.follow([this] { read(false); });
    if (!std::filesystem::exists(file_.path())) return {};
    return file_.read_into(log_, false);
  }

  void end() {
    if (!file_.path().empty() && live_) read(true);
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void read(bool to_end) {
    if (!to_end && !std::filesystem::exists(file_.path())) return;
    const auto done = file_.read_into(log_, to_end);
    if (!done) problem_ = done.error().message;
  }

  KeyLogFile file_;
  KeyLog& log_;
  bool live_;
  std::string problem_;
};

}  // namespace

Result<RecordReport> record(PacketSource& source,
                            RecordingWriter writer,
                            const RecordOptions& options,
                            const Clock& clock,
                            const std::atomic<bool>& stop,
                            const std::function<void(const RecordProgress&)>& progress) {
  WriterSink sink(writer);
  Capture capture(options.capture, sink);
  Keys keys(options, capture.key_log());
  if (auto read = keys.begin(); !read) return read.error();
  const TimePoint begun = clock.now();
  TimePoint told = begun;
  std::optional<UnixTime> first;
  std::uint64_t looks = 0;
  while (!stop.load(std::memory_order_relaxed) && !sink.failure) {
    Packet packet;
    auto next = source.next(packet);
    if (!next) return next.error();
    if (*next == PacketSource::Next::end) break;
    if (*next == PacketSource::Next::packet) {
      if (!first) first = packet.at;
      if (!options.live && options.duration &&
          packet.at.ns - first->ns > options.duration->count()) {
        break;
      }
      capture.add(packet);
      if (options.exchanges && sink.exchanges >= *options.exchanges) break;
      if (++looks % kPacketsPerLook != 0 && !options.live) continue;
    } else if (const std::string secrets = source.take_key_log(); !secrets.empty()) {
      capture.key_log().add(secrets);
    }
    const TimePoint now = clock.now();
    if (options.live && options.duration && now - begun >= *options.duration) break;
    if (now - told < kProgressEvery) continue;
    told = now;
    if (sink.failure) break;
    if (auto saved = writer.save(); !saved) return saved.error();
    progress({capture.ledger().frames.count, sink.exchanges, source.drops().kernel});
  }
  keys.end();
  capture.finish();
  if (sink.failure) return *sink.failure;
  Ledger& ledger = capture.ledger();
  ledger.kernel_drops = source.drops().kernel;
  ledger.interface_drops = source.drops().interface;
  const FileEnd file_end = source.file_end();
  if (file_end.cut_bytes > 0) ledger.file_end.add(file_end.cut_bytes);
  RecordReport report{ledger, sink.exchanges, keys.problem(), file_end.damage};
  if (ledger.frames.count == 0) return report;
  if (auto finished = writer.finish(ledger.lines()); !finished) return finished.error();
  return report;
}

}  // namespace gatedrill::replay::capture
