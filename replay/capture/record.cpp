#include "replay/capture/record.hpp"

#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "replay/replay_source.hpp"

namespace gatedrill::replay::capture {
namespace {

// The clock is looked at once for this many packets.
constexpr std::uint64_t kPacketsPerLook = 1024;
constexpr Duration kProgressEvery = std::chrono::seconds(1);

// Hands everything to the current file and keeps the first failure.
class FileSink final : public ExchangeSink {
 public:
  FileSink(RecordingFiles& files, bool leave_out_replays)
      : files_(files), leave_out_replays_(leave_out_replays) {}

  void on_exchange(RecordedExchange exchange) override {
    if (failure || left_out(exchange)) return;
    ++exchanges;
    if (auto added = files_.writer().add(std::move(exchange)); !added) failure = added.error();
  }

  void on_connection(const RecordedConnection& connection) override {
    if (failure || only_replays(connection.connection)) return;
    if (auto added = files_.writer().add(connection); !added) failure = added.error();
  }

  void on_loss(const RecordedLoss& loss) override {
    if (failure) return;
    if (auto added = files_.writer().add(loss); !added) failure = added.error();
  }

  std::uint64_t exchanges = 0;
  Tally own_replays;
  std::optional<Error> failure;

 private:
  bool left_out(const RecordedExchange& exchange) {
    if (!leave_out_replays_) return false;
    const bool replayed =
        exchange.request && !value_of(exchange.request->fields, kExchangeField).empty();
    bool& others = has_others_.try_emplace(exchange.connection, false).first->second;
    others = others || !replayed;
    if (!replayed) return false;
    own_replays.add(exchange.request->body.size() +
                    (exchange.response ? exchange.response->body.size() : 0));
    return true;
  }

  bool only_replays(std::int64_t connection) {
    const auto found = has_others_.find(connection);
    if (found == has_others_.end()) return false;
    const bool others = found->second;
    has_others_.erase(found);
    return !others;
  }

  RecordingFiles& files_;
  bool leave_out_replays_;
  std::unordered_map<std::int64_t, bool> has_others_;  // of open connections: beside replays
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

Ledger account_of(const Capture& capture, const PacketSource& source, const FileSink& sink) {
  Ledger ledger = capture.ledger();
  const PacketSource::Drops drops = source.drops();
  ledger.kernel_drops = drops.kernel;
  ledger.interface_drops = drops.interface;
  ledger.queue_drops = drops.queue;
  ledger.own_replays = sink.own_replays;
  const FileEnd file_end = source.file_end();
  if (file_end.cut_bytes > 0) ledger.file_end.add(file_end.cut_bytes);
  return ledger;
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
  FileSink sink(files, options.leave_out_replays);
  Capture capture(options.capture, sink);
  Keys keys(options, capture.key_log());
  if (auto read = keys.begin(); !read) return read.error();
  RecordReport report;
  const TimePoint begun = clock.now();
  TimePoint told = begun;
  std::optional<UnixTime> first;
  std::uint64_t looks = 0;
  bool stopping = false;
  const auto end_at = [&](TimePoint now) {
    if (!stopping) source.stop(clock.unix_time(now));
    stopping = true;
  };
  while (!sink.failure) {
    if (stop.load(std::memory_order_relaxed)) {
      if (!options.live) break;
      end_at(clock.now());
    }
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
      if (++looks % kPacketsPerLook != 0) continue;
    } else if (const std::string secrets = source.take_key_log(); !secrets.empty()) {
      capture.key_log().add(secrets);
    }
    const TimePoint now = clock.now();
    if (options.live && options.duration && now - begun >= *options.duration) end_at(now);
    if (options.live && files.due(clock.unix_time(now))) {
      const Ledger ledger = account_of(capture, source, sink);
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
  if (sink.failure) return with_files(*sink.failure, files);
  report.ledger = account_of(capture, source, sink);
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
