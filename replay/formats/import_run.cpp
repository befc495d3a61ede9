#include "replay/formats/import_run.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "replay/formats/formats.hpp"

namespace gatedrill::replay::formats {
namespace {

// A hostile file may be nothing but losses: the rest is counted only.
constexpr std::uint64_t kLossesListedMax = 10'000;
constexpr std::size_t kLossesShownMax = 20;
constexpr std::uint64_t kExchangesPerLook = 1024;

// Lines in the order in which they were first met, one of each name. Remarks without a number that
// say something else stand beside each other.
class Tallies {
 public:
  LedgerLine& of(std::string_view what) { return at(what, {}); }

  void add(const LedgerLine& line) {
    const bool remark = line.count == 0 && line.bytes == 0;
    LedgerLine& tally = at(line.what, remark ? line.note : std::string());
    tally.count += line.count;
    tally.bytes += line.bytes;
    if (tally.note.empty()) tally.note = line.note;
  }

  void add(const Tallies& others) {
    for (const LedgerLine& line : others.lines_)
      add(line);
  }

  [[nodiscard]] const std::vector<LedgerLine>& all() const { return lines_; }

 private:
  LedgerLine& at(std::string_view what, const std::string& remark) {
    const auto [place, is_new] = places_.try_emplace({std::string(what), remark}, lines_.size());
    if (is_new) lines_.push_back({.what = std::string(what)});
    return lines_[place->second];
  }

  std::vector<LedgerLine> lines_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
};

class RecordingSink final : public ImportSink {
 public:
  RecordingSink(RecordingWriter& writer,
                const std::atomic<bool>& stop,
                const std::function<void(std::uint64_t)>& progress)
      : writer_(writer), stop_(stop), progress_(progress) {}

  void on_exchange(RecordedExchange exchange) override {
    if (failure) return;
    add_to_account(exchange);
    ++report.exchanges;
    if (report.exchanges % kExchangesPerLook == 0) progress_(report.exchanges);
    if (auto added = writer_.add(std::move(exchange)); !added) failure = added.error();
  }

  void on_connection(const RecordedConnection& connection) override {
    if (failure) return;
    if (auto added = writer_.add(connection); !added) failure = added.error();
  }

  void on_loss(const ImportLoss& loss) override {
    if (failure) return;
    LedgerLine& tally = losses_.of(loss.reason);
    ++tally.count;
    tally.bytes += loss.bytes;
    if (tally.note.empty()) tally.note = "first " + loss.place;
    ++report.losses;
    if (report.first_losses.size() < kLossesShownMax) report.first_losses.push_back(loss);
    if (report.losses > kLossesListedMax) return;
    const std::string reason = loss.reason + " (" + loss.place + ")";
    on_recorded_loss({loss.at, loss.connection, loss.direction, reason, loss.bytes});
  }

  void on_recorded_loss(const RecordedLoss& loss) override {
    if (failure) return;
    if (auto added = writer_.add(loss); !added) failure = added.error();
  }

  void count(std::string_view what, std::uint64_t bytes, std::string_view note) override {
    LedgerLine& tally = counts_.of(what);
    ++tally.count;
    tally.bytes += bytes;
    tally.note = note;
  }

  void on_ledger_line(const LedgerLine& line) override {
    carried_.add(line);
    brought_account_ = true;
  }

  void on_end_of_recording() override {
    if (!brought_account_) carried_.add(account_);
    account_ = Tallies();
    brought_account_ = false;
  }

  [[nodiscard]] bool stopped() const override {
    return failure.has_value() || stop_.load(std::memory_order_relaxed);
  }

  // The account. `requests` = answered + without answer = complete + partial, and so on.
  void close_account(std::span<const Input> inputs) {
    std::uint64_t bytes = 0;
    for (const Input& input : inputs)
      bytes += input.offset();
    const bool carried = !carried_.all().empty();
    Tallies all = std::move(carried_);
    if (!carried) {
      all.add({"files imported", inputs.size(), bytes, "bytes, gzip undone"});
      all.add({"exchanges", report.exchanges, 0, ""});
    }
    if (stop_.load(std::memory_order_relaxed)) {
      all.add({"stopped early", 1, 0, "on request; what follows was not read"});
    }
    all.add(account_);
    all.add(counts_);
    std::vector<LedgerLine>& lines = report.ledger;
    lines = all.all();
    for (const LedgerLine& tally : losses_.all())
      lines.push_back({"lost: " + tally.what, tally.count, tally.bytes, tally.note});
    if (report.losses > kLossesListedMax) {
      lines.push_back({"losses not listed", report.losses - kLossesListedMax, 0,
                       "the first 10,000 stand in the view losses"});
    }
  }

  ImportReport report;
  std::optional<Error> failure;

 private:
  void add_to_account(const RecordedExchange& exchange) {
    const auto add = [this](const char* what, std::uint64_t bytes) {
      LedgerLine& tally = account_.of(what);
      ++tally.count;
      tally.bytes += bytes;
    };
    if (exchange.request) {
      const RecordedRequest& request = *exchange.request;
      add(request.complete ? "requests complete" : "requests partial", request.body.size());
      add(exchange.response ? "requests answered" : "requests without answer", 0);
    }
    if (exchange.response) {
      const RecordedResponse& response = *exchange.response;
      add(response.complete ? "answers complete" : "answers partial", response.body.size());
      if (!exchange.request) add("answers without request", 0);
    }
  }

  RecordingWriter& writer_;
  const std::atomic<bool>& stop_;
  const std::function<void(std::uint64_t)>& progress_;
  Tallies account_;
  Tallies counts_;
  Tallies losses_;
  Tallies carried_;  // what recordings brought
  bool brought_account_ = false;
};

// The error is about the input that was read last.
Error with_advice(const Format& format, std::span<const Input> inputs, Error error) {
  const auto last = std::find_if(inputs.rbegin(), inputs.rend(),
                                 [](const Input& input) { return input.offset() > 0; });
  if (error.code != ErrorCode::usage || last == inputs.rend()) return error;
  const std::string advice = advice_about(last->beginning(), format);
  if (!advice.empty()) error.message += "; " + advice;
  return error;
}

}  // namespace

Result<ImportReport> run_import(const Format& format,
                                std::span<Input> inputs,
                                RecordingWriter writer,
                                const std::atomic<bool>& stop,
                                const std::function<void(std::uint64_t)>& progress) {
  RecordingSink sink(writer, stop, progress);
  for (Input& input : inputs)
    input.heed(stop);
  auto done = format.read(inputs, sink);
  if (!done) return with_advice(format, inputs, done.error());
  if (sink.failure) return *sink.failure;
  sink.close_account(inputs);
  if (sink.report.exchanges == 0) return std::move(sink.report);
  if (auto finished = writer.finish(sink.report.ledger); !finished) return finished.error();
  return std::move(sink.report);
}

}  // namespace gatedrill::replay::formats
