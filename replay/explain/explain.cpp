#include "replay/explain/explain.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "gateway/core/random.hpp"
#include "replay/explain/clock_shift.hpp"
#include "replay/explain/hop_reader.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay::explain {
namespace {

constexpr std::size_t kIdleClosesMax = 200'000;
constexpr int kGatewayTimeout = 504;
// A shorter silence before a close is the end of an exchange, not that of a kept connection.
constexpr Duration kKeptIdle = std::chrono::seconds(1);
// A keep-alive timer is exact; connections that a stopping server closes were idle for any time.
constexpr ClusterRule kKeepAlive{.width = 0.05, .least = 5, .share = 0.5};

std::uint64_t ends_of(const RecordedConnection& connection) {
  return stable_hash(connection.client + " " + connection.server);
}

// Everything that happened in one or two recordings, in the order of time.
class Feed {
 public:
  static Result<Feed> open(const std::vector<std::string>& files,
                           Duration shift,
                           const std::optional<Spell>& within = {}) {
    Feed feed;
    for (std::size_t i = 0; i < files.size(); ++i) {
      auto reader =
          HopReader::open(files[i], static_cast<int>(i), i == 0 ? Duration{0} : shift, within);
      if (!reader) return reader.error();
      Source& source = feed.sources_.emplace_back(Source{.reader = std::move(*reader)});
      if (auto done = source.next_hop(); !done) return done.error();
      if (auto done = source.next_attempt(); !done) return done.error();
    }
    return feed;
  }

  // Gives each to one of the two. An exchange that both recordings hold is given once.
  template <class UseHop, class UseAttempt>
  Result<void> read(UseHop use_hop, UseAttempt use_attempt) {
    for (;;) {
      Source* next = nullptr;
      bool attempt = false;
      UnixTime at{};
      for (Source& source : sources_) {
        if (source.hop && (next == nullptr || source.hop->begin < at)) {
          next = &source;
          attempt = false;
          at = source.hop->begin;
        }
        if (source.attempt && (next == nullptr || source.attempt_at() < at)) {
          next = &source;
          attempt = true;
          at = source.attempt_at();
        }
      }
      if (next == nullptr) return {};
      const RecordedConnection& connection =
          attempt ? next->attempt->connection : next->hop->connection;
      const bool first = next == &sources_.front();
      if (first && sources_.size() > 1) known_.insert(ends_of(connection));
      const bool again = !first && known_.contains(ends_of(connection));
      if (again) {
        ++next->twice;
      } else if (attempt) {
        use_attempt(std::move(*next->attempt));
      } else {
        use_hop(std::move(*next->hop));
      }
      auto moved = attempt ? next->next_attempt() : next->next_hop();
      if (!moved) return moved;
    }
  }

  [[nodiscard]] std::uint64_t twice(std::size_t recording) const {
    return sources_[recording].twice;
  }

 private:
  struct Source {
    HopReader reader;
    std::optional<Hop> hop{};
    std::optional<Attempt> attempt{};
    std::uint64_t twice = 0;

    [[nodiscard]] UnixTime attempt_at() const {
      return attempt->connection.opened.value_or(UnixTime{});
    }

    Result<void> next_hop() {
      auto found = reader.next(hop.emplace());
      if (!found) return found.error();
      if (!*found) hop.reset();
      return {};
    }

    Result<void> next_attempt() {
      auto found = reader.next(attempt.emplace());
      if (!found) return found.error();
      if (!*found) attempt.reset();
      return {};
    }
  };

  std::vector<Source> sources_;
  std::unordered_set<std::uint64_t> known_;
};

Result<Coverage> coverage_of(const std::string& file) {
  auto recording = Recording::open(file);
  if (!recording) return recording.error();
  auto ledger = recording->ledger();
  if (!ledger) return ledger.error();
  Coverage coverage{.file = file};
  for (const LedgerLine& line : *ledger) {
    if (line.what == "gaps") coverage.gap_bytes = line.bytes;
    if (line.what == "kernel drops") coverage.kernel_drops = line.count;
  }
  auto reader = HopReader::open(file, 0, Duration{0});
  if (!reader) return reader.error();
  auto unseen = reader->unseen_bytes();
  if (!unseen) return unseen.error();
  coverage.gap_bytes += *unseen;
  return coverage;
}

// What the first pass learns.
struct Lesson {
  TopologyLearner topology{};
  std::map<std::string, Sample> waits{};
  std::vector<Coverage> coverage;

  // With what the user and the field know.
  [[nodiscard]] Hints hints(const std::vector<Timeout>& given) const {
    Hints hints{.timeouts = given};
    hints.timeouts.insert(hints.timeouts.end(), usual_timeouts().begin(), usual_timeouts().end());
    for (const auto& [server, sample] : waits) {
      if (auto cluster = cluster_of(sample.values())) hints.waits.emplace(server, *cluster);
    }
    return hints;
  }

  void see(const Hop& hop) {
    topology.see(hop);
    Coverage& seen = coverage[static_cast<std::size_t>(hop.recording)];
    if (seen.exchanges++ == 0) seen.first = hop.begin;
    seen.last = hop.begin;
    const Outcome outcome = outcome_of(hop);
    const bool timed_out = hop.status == kGatewayTimeout || outcome.fate == Fate::abandoned;
    if (timed_out && outcome.waited) waits[hop.server].add(*outcome.waited);
  }
};

Result<void> learn_keep_alive(const std::vector<std::string>& files, Hints& hints) {
  std::map<std::string, Sample> idle;
  for (const std::string& file : files) {
    auto reader = HopReader::open(file, 0, Duration{0});
    if (!reader) return reader.error();
    auto closes = reader->idle_closes(kIdleClosesMax);
    if (!closes) return closes.error();
    for (const IdleClose& close : *closes) {
      if (close.by_server && close.idle >= kKeptIdle) idle[close.server].add(close.idle);
    }
  }
  for (const auto& [server, sample] : idle) {
    auto cluster = cluster_of(sample.values(), kKeepAlive);
    if (cluster) hints.keep_alive.emplace(server, *cluster);
  }
  return {};
}

// The first pass: what the recordings show by themselves.
Result<void> learn(const std::vector<std::string>& files,
                   Duration shift,
                   const std::optional<Spell>& within,
                   Lesson& lesson) {
  auto feed = Feed::open(files, shift, within);
  if (!feed) return feed.error();
  auto done = feed->read([&](const Hop& hop) { lesson.see(hop); }, [](const Attempt&) {});
  if (!done) return done.error();
  for (std::size_t i = 0; i < files.size(); ++i)
    lesson.coverage[i].twice = feed->twice(i);
  return {};
}

// The second: each request with what became of it.
Result<void> join(const std::vector<std::string>& files,
                  Duration shift,
                  const std::optional<Spell>& within,
                  Joiner& joiner) {
  auto feed = Feed::open(files, shift, within);
  if (!feed) return feed.error();
  auto done = feed->read([&](Hop hop) { joiner.add(std::move(hop)); },
                         [&](Attempt attempt) { joiner.add(std::move(attempt)); });
  if (!done) return done.error();
  joiner.finish();
  return {};
}

}  // namespace

Result<Report> explain(const std::string& path, const Options& options) {
  std::vector<std::string> files = {path};
  if (options.upstream_leg) files.push_back(*options.upstream_leg);
  Lesson lesson;
  for (const std::string& file : files) {
    auto coverage = coverage_of(file);
    if (!coverage) return coverage.error();
    lesson.coverage.push_back(std::move(*coverage));
  }
  std::optional<ClockShift> clock;
  if (options.upstream_leg) {
    auto compared = compare_clocks(path, *options.upstream_leg);
    if (!compared) return compared.error();
    clock = *compared;
  }
  const Duration shift = clock ? clock->added : Duration{0};
  if (auto learnt = learn(files, shift, std::nullopt, lesson); !learnt) return learnt.error();
  Hints hints = lesson.hints(options.timeouts);
  if (auto done = learn_keep_alive(files, hints); !done) return done.error();
  Topology topology = lesson.topology.learn();
  Report report{.coverage = std::move(lesson.coverage),
                .clock = clock,
                .hints = std::move(hints),
                .findings = Findings(std::move(topology), options.examples)};
  Findings& findings = report.findings;
  Joiner joiner(findings.topology(), [&](const Chain& chain) {
    findings.add(chain, judge(chain, findings.topology(), report.hints));
  });
  if (auto joined = join(files, shift, std::nullopt, joiner); !joined) return joined.error();
  report.incidents = known_incidents(findings, report.hints);
  return report;
}

namespace {

// What caused the exchange lasts as long as it, or a few times so where it was tried again; what it
// caused does not last longer. That, and so many others that who calls whom can be learnt. Of one
// without an end, whatever may have waited for it.
Result<Spell> spell_around(const std::string& path, const RecordedExchange& exchange) {
  constexpr Duration kLeast = std::chrono::milliseconds(250);
  constexpr Duration kMost = std::chrono::minutes(2);
  constexpr std::int64_t kTries = 4;
  constexpr std::size_t kOthers = 10'000;
  const UnixTime end = exchange.response_end.value_or(exchange.at);
  const Duration lasted{end.ns - exchange.at.ns};
  const Duration pad =
      exchange.response_end ? std::clamp<Duration>(kTries * lasted, kLeast, kMost) : kMost;
  const auto padded = [&](Duration by) {
    return Spell{UnixTime{exchange.at.ns - by.count()}, UnixTime{end.ns + by.count()}};
  };
  return with_exchanges(path, padded(pad), padded(kMost), kOthers);
}

bool holds(const Chain& chain, std::int64_t id) {
  return chain.hop.id == id || std::any_of(chain.children.begin(), chain.children.end(),
                                           [&](const Chain& child) { return holds(child, id); });
}

}  // namespace

Result<std::optional<Explained>> explain_one(const std::string& path,
                                             const RecordedExchange& exchange) {
  const auto around = spell_around(path, exchange);
  if (!around) return around.error();
  Lesson lesson{.coverage = std::vector<Coverage>(1)};
  if (auto learnt = learn({path}, Duration{0}, *around, lesson); !learnt) return learnt.error();
  const Hints hints = lesson.hints({});
  const Topology topology = lesson.topology.learn();
  std::optional<Explained> explained;
  Joiner joiner(topology, [&](const Chain& chain) {
    if (!holds(chain, exchange.id)) return;
    explained = Explained{chain, judge(chain, topology, hints)};
    explained->verdict.broken = nullptr;
  });
  if (auto joined = join({path}, Duration{0}, *around, joiner); !joined) return joined.error();
  return explained;
}

}  // namespace gatedrill::replay::explain
