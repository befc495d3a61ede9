#include "replay/tap/gateway_recorder.hpp"

#include <atomic>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replay/capture/ledger.hpp"
#include "replay/recording_writer.hpp"
#include "replay/redaction_options.hpp"
#include "replay/tap/shard_tap.hpp"
#include "replay/tap/tapped_stream.hpp"

namespace gatedrill::replay {
namespace {

// How long it rests when nothing has come: short enough that the rings do not fill meanwhile.
constexpr std::chrono::milliseconds kRest{20};
// Of one ring before the next one has its turn.
constexpr int kBatch = 4096;

class GatewayRecorder final : public TrafficRecorder, private capture::ExchangeSink {
 public:
  GatewayRecorder(const gateway::RecordConfig& config,
                  std::size_t shards,
                  const Clock& clock,
                  RecordingWriter writer)
      : config_(config), clock_(clock), writer_(std::move(writer)) {
    for (std::size_t i = 0; i < shards; ++i) {
      taps_.push_back(std::make_unique<ShardTap>(static_cast<std::size_t>(config.buffer_bytes),
                                                 clock, next_id_));
    }
    thread_ = std::thread([this] { run(); });
  }

  ~GatewayRecorder() override { stop(); }

  TrafficTap& tap(std::size_t shard) override { return *taps_[shard]; }

  Result<Report> finish() override;

 private:
  void run();
  bool drain(ShardTap& tap);
  void take(const TapRing::Record& record);
  void stop();
  void fail(Error error);
  [[nodiscard]] std::vector<LedgerLine> ledger_lines() const;

  void on_exchange(RecordedExchange exchange) override;
  void on_connection(const RecordedConnection& connection) override;
  void on_loss(const RecordedLoss& loss) override;

  const gateway::RecordConfig config_;
  const Clock& clock_;
  std::atomic<std::uint64_t> next_id_ = 1;
  std::vector<std::unique_ptr<ShardTap>> taps_;

  // Of the thread, until it has ended.
  std::optional<RecordingWriter> writer_;
  std::optional<Error> failure_;
  std::uint64_t exchanges_ = 0;
  capture::Ledger ledger_;
  capture::HttpContext context_{.sink = *this, .ledger = ledger_};
  std::map<std::uint64_t, TappedStream> streams_;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread thread_;
};

void GatewayRecorder::run() {
  for (;;) {
    bool ending = false;
    {
      const std::lock_guard lock(mutex_);
      ending = ending_;
    }
    bool found = false;
    for (const auto& tap : taps_)
      found = drain(*tap) || found;
    if (found) continue;
    if (ending) return;  // nobody pushes any more
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kRest, [this] { return ending_; });
  }
}

bool GatewayRecorder::drain(ShardTap& tap) {
  TapRing::Record record;
  int taken = 0;
  while (taken < kBatch && tap.ring().front(record)) {
    take(record);
    tap.ring().pop();
    ++taken;
  }
  return taken > 0;
}

void GatewayRecorder::take(const TapRing::Record& record) {
  const TapEvent& event = record.head;
  if (event.kind == TapEvent::Kind::opened) {
    streams_.try_emplace(event.connection, event, record.bytes, context_);
    return;
  }
  const auto found = streams_.find(event.connection);
  if (found == streams_.end()) return;
  if (!found->second.take(event, record.bytes)) streams_.erase(found);
}

void GatewayRecorder::on_exchange(RecordedExchange exchange) {
  if (failure_) return;
  if (auto added = writer_->add(std::move(exchange)); !added) {
    fail(added.error());
  } else {
    ++exchanges_;
  }
}

void GatewayRecorder::on_connection(const RecordedConnection& connection) {
  if (failure_) return;
  RecordedConnection described = connection;
  const auto stream = streams_.find(static_cast<std::uint64_t>(connection.connection));
  if (stream != streams_.end()) stream->second.describe(described);
  if (auto added = writer_->add(described); !added) fail(added.error());
}

void GatewayRecorder::on_loss(const RecordedLoss& loss) {
  if (failure_) return;
  if (auto added = writer_->add(loss); !added) fail(added.error());
}

// The disk is full, say. The gateway goes on.
void GatewayRecorder::fail(Error error) {
  std::cerr << "gatedrill gateway: " << error.message
            << ": no more traffic is recorded; all else goes on\n";
  failure_ = std::move(error);
}

void GatewayRecorder::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

std::vector<LedgerLine> GatewayRecorder::ledger_lines() const {
  std::uint64_t bytes = 0;
  std::uint64_t connections = 0;
  for (const auto& tap : taps_) {
    bytes += tap->lost_bytes();
    connections += tap->lost_connections();
  }
  std::vector<LedgerLine> lines = ledger_.stream_lines();
  lines.insert(lines.begin(),
               {{"recorded by", 0, 0, "the gateway itself, both legs; no packets were captured"},
                {"tap overflow", 0, bytes, "bytes that came faster than they could be written"},
                {"tap overflow: connections", connections, 0, "not recorded at all"}});
  return lines;
}

Result<TrafficRecorder::Report> GatewayRecorder::finish() {
  stop();
  const UnixTime now = clock_.unix_time(clock_.now());
  for (auto& [id, stream] : streams_)
    stream.leave_open(now);
  streams_.clear();
  if (failure_) return *failure_;
  const std::vector<LedgerLine> lines = ledger_lines();
  if (auto finished = writer_->finish(lines); !finished) return finished.error();
  for (const std::string& sum : ledger_.open_sums())
    return evidence_error(config_.traffic + ": the account does not close: " + sum);
  Report report;
  report.exchanges = exchanges_;
  for (const auto& tap : taps_)
    report.lost_bytes += tap->lost_bytes();
  return report;
}

}  // namespace

Result<std::unique_ptr<TrafficRecorder>> record_gateway(const gateway::RecordConfig& config,
                                                        std::size_t shards,
                                                        const Clock& clock) {
  const auto options = recording_options(config.redaction);
  if (!options) return options.error();
  auto writer = RecordingWriter::create(config.traffic, *options);
  if (!writer) return writer.error();
  return std::unique_ptr<TrafficRecorder>(
      std::make_unique<GatewayRecorder>(config, shards, clock, std::move(*writer)));
}

}  // namespace gatedrill::replay
