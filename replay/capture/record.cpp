#include "replay/capture/record.hpp"

#include <string_view>
#include <utility>

#include "replay/capture/without_replays.hpp"

namespace gatedrill::replay::capture {
namespace {

// The clock is looked at once for this many packets.
constexpr std::uint64_t kPacketsPerLook = 1024;
// A packet may be with the kernel for so long while nothing comes from it.
constexpr Duration kLatePackets = std::chrono::seconds(1);
constexpr Duration kProgressEvery = std::chrono::seconds(1);

// Hands everything to the current file and keeps the first failure.
class FileSink final : public ExchangeSink {
 public:
  explicit FileSink(RecordingFiles& files) : files_(files) {}

  void on_exchange(RecordedExchange exchange) override {
    if (failure) return;
    ++exchanges;
    keep(files_.writer().add(std::move(exchange)));
  }

  void on_connection(const RecordedConnection& connection) override {
    if (!failure) keep(files_.writer().add(connection));
  }

  void on_loss(const RecordedLoss& loss) override {
    if (!failure) keep(files_.writer().add(loss));
  }

  std::uint64_t exchanges = 0;
  std::optional<Error> failure;

 private:
  template <class T>
  void keep(const Result<T>& added) {
    if (!added) failure = added.error();
  }

  RecordingFiles& files_;
};

// The key log of a capture: whole before a file's first packet; live, what is new in it whenever a
// secret is missed.
class Keys {
 public:
  Keys(const RecordOptions& options, KeyLog& log)
      : file_(options.key_log), log_(log), live_(options.live) {}

  Result<void> begin() {
    if (file_ == nullptr) return {};
    if (!live_) return file_->read_into(log_, true);
    log_.follow([this] { read(false); });
    return read_if_there();
  }

  void end() {
    if (file_ != nullptr && live_) read(true);
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  Result<void> read_if_there() {
    const auto there = file_->open();
    if (!there) return there.error();
    return *there ? file_->read_into(log_, false) : Result<void>();
  }

  void read(bool to_end) {
    const auto done = to_end ? file_->read_into(log_, true) : read_if_there();
    if (!done) problem_ = done.error().message;
  }

  KeyLogFile* file_;
  KeyLog& log_;
  bool live_;
  std::string problem_;
};

Ledger account_of(const Capture& capture,
                  const PacketSource& source,
                  const WithoutReplays& own_replays) {
  Ledger ledger = capture.ledger();
  const PacketSource::Drops drops = source.drops();
  ledger.kernel_drops = drops.kernel;
  ledger.interface_drops = drops.interface;
  ledger.queue_drops = drops.queue;
  ledger.own_replays = own_replays.exchanges();
  ledger.own_replay_connections = own_replays.connections();
  const FileEnd file_end = source.file_end();
  if (file_end.cut_bytes > 0) ledger.file_end.add(file_end.cut_bytes);
  ledger.file_damage = {file_end.damaged_places, file_end.damaged_bytes};
  ledger.file_damage_places = file_end.places();
  if (file_end.rest_unknown) ledger.file_rest_unknown = file_end.damage;
  return ledger;
}

// Each place of the file that could not be read, and the rest as one; `latest` is the time of the
// last packet.
void tell_damage(const FileEnd& file, UnixTime latest, ExchangeSink& sink) {
  RecordedLoss loss{.reason = std::string(to_string(LossReason::damaged_file))};
  std::uint64_t untold = file.damaged_bytes;
  for (const FileDamage& damage : file.damages) {
    loss.at = damage.after;
    loss.bytes = damage.bytes;
    untold -= damage.bytes;
    sink.on_loss(loss);
  }
  loss.bytes = untold;
  if (untold > 0) sink.on_loss(loss);
  if (file.damage.empty() || (file.cut_bytes == 0 && !file.rest_unknown)) return;
  loss.at = latest;
  loss.bytes = file.cut_bytes;
  sink.on_loss(loss);
}

// An error does not take what is complete with it.
Error with_files(Error error, const RecordingFiles& files) {
  if (!files.complete().empty()) {
    error.message += "; the recordings up to " + files.complete().back() + " are whole";
  }
  return error;
}

}  // namespace

Result<RecordReport> record(PacketSource& source,
                            RecordingFiles files,
                            const RecordOptions& options,
                            const Clock& clock,
                            const std::atomic<bool>& stop,
                            const std::function<void(const RecordProgress&)>& progress) {
  FileSink sink(files);
  WithoutReplays own_replays(sink);
  ExchangeSink& first = options.leave_out_replays ? static_cast<ExchangeSink&>(own_replays) : sink;
  Capture capture(options.capture, first);
  Keys keys(options, capture.key_log());
  if (auto read = keys.begin(); !read) return read.error();
  RecordReport report;
  const TimePoint begun = clock.now();
  TimePoint told = begun;
  std::optional<UnixTime> began;
  UnixTime latest{};
  std::uint64_t looks = 0;
  bool stopping = false;
  const auto end_at = [&](TimePoint now) {
    if (!stopping) source.stop(clock.unix_time(now));
    stopping = true;
  };
  const auto enough = [&] { return options.exchanges && sink.exchanges >= *options.exchanges; };
  while (!sink.failure) {
    if (stop.load(std::memory_order_relaxed)) {
      if (!options.live) {
        capture.ledger().stopped_at = source.offset();
        break;
      }
      end_at(clock.now());
    }
    Packet packet;
    auto next = source.next(packet);
    if (!next) return next.error();
    if (*next == PacketSource::Next::end) break;
    if (*next == PacketSource::Next::packet) {
      if (!began) began = packet.at;
      if (!options.live && options.duration &&
          packet.at.ns - began->ns > options.duration->count()) {
        break;
      }
      latest = packet.at;
      capture.add(packet);
      if (enough()) break;
      if (++looks % kPacketsPerLook != 0) continue;
    } else if (const std::string secrets = source.take_key_log(); !secrets.empty()) {
      capture.key_log().add(secrets);
    }
    const TimePoint now = clock.now();
    if (options.live && *next == PacketSource::Next::quiet) {
      capture.pass(clock.unix_time(now - kLatePackets));
      if (enough()) break;
    }
    if (options.live && options.duration && now - begun >= *options.duration) end_at(now);
    if (options.live && files.due(clock.unix_time(now))) {
      const Ledger ledger = account_of(capture, source, own_replays);
      const RecordingFiles::Account account{ledger.lines(), ledger.pending()};
      if (auto rotated = files.rotate(account, clock.unix_time(now)); !rotated) {
        return with_files(rotated.error(), files);
      }
    }
    if (now - told < kProgressEvery) continue;
    told = now;
    if (sink.failure) break;
    if (auto saved = files.writer().save(); !saved) return with_files(saved.error(), files);
    if (options.live && report.shortage.empty()) {
      report.shortage = files.shortage();
      if (!report.shortage.empty()) end_at(now);
    }
    if (!progress) continue;
    progress({capture.ledger().frames.count, sink.exchanges, source.drops(), files.bytes(),
              files.complete().size(), source.file_end().damage});
  }
  keys.end();
  capture.finish();
  own_replays.finish();
  tell_damage(source.file_end(), latest, sink);
  if (sink.failure) return with_files(*sink.failure, files);
  report.ledger = account_of(capture, source, own_replays);
  report.exchanges = sink.exchanges;
  report.key_log_problem = keys.problem();
  report.damage = source.file_end().damage;
  if (report.ledger.frames.count == 0) return report;
  const RecordingFiles::Account account{report.ledger.lines(), report.ledger.pending()};
  if (auto finished = files.finish(account); !finished) {
    return with_files(finished.error(), files);
  }
  report.files.assign(files.complete().begin(), files.complete().end());
  return report;
}

}  // namespace gatedrill::replay::capture
