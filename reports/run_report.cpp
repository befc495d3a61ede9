#include "reports/run_report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <sqlite3.h>

#include "gateway/core/histogram.hpp"
#include "reports/hdr_codec.hpp"
#include "reports/run_facts.hpp"
#include "reports/run_file.hpp"
#include "reports/sqlite.hpp"

namespace gatedrill::reports {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

LatencyFigures figures_of(const Histogram& histogram) {
  return LatencyFigures{to_ms(histogram.at_quantile(0.5)), to_ms(histogram.at_quantile(0.9)),
                        to_ms(histogram.at_quantile(0.99)), to_ms(histogram.at_quantile(0.999)),
                        to_ms(histogram.max())};
}

std::optional<double> real_or_nothing(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.real(column);
}

// Reads one report; the first failure is kept and ends it.
class Reader {
 public:
  explicit Reader(Database& database) : database_(database) {}

  Result<RunReport> read();

 private:
  template <class Use>
  void rows(std::string_view sql, Use use);
  void read_facts();
  void read_outcomes();
  void read_latency();
  void read_sends();
  void read_client();
  void read_origins();
  void read_timeline();
  void finish_gateways();
  GatewayReport& gateway(const std::string& name);
  void count(GatewayReport& gateway,
             int status,
             const std::string& cause,
             std::int64_t second,
             std::int64_t requests);

  Database& database_;
  RunReport report_;
  // Per gateway and second, all routes together.
  std::map<std::pair<std::string, std::int64_t>, Histogram> seconds_;
  std::optional<Error> error_;
};

template <class Use>
void Reader::rows(std::string_view sql, Use use) {
  if (error_) return;
  Result<Statement> query = database_.prepare(sql);
  if (!query) {
    error_ = query.error();
    return;
  }
  int code = query->step();
  for (; code == SQLITE_ROW && !error_; code = query->step())
    use(*query);
  if (code != SQLITE_DONE && code != SQLITE_ROW) error_ = database_.error(code);
}

GatewayReport& Reader::gateway(const std::string& name) {
  for (GatewayReport& known : report_.gateways) {
    if (known.name == name) return known;
  }
  report_.gateways.emplace_back().name = name;
  return report_.gateways.back();
}

void Reader::count(GatewayReport& gateway,
                   int status,
                   const std::string& cause,
                   std::int64_t second,
                   std::int64_t requests) {
  auto series = std::ranges::find_if(gateway.outcomes, [&](const OutcomeSeries& known) {
    return known.status == status && known.cause == cause;
  });
  if (series == gateway.outcomes.end()) {
    series = gateway.outcomes.insert(series, OutcomeSeries{status, cause, 0, {}});
  }
  gateway.requests += requests;
  series->requests += requests;
  const auto index = static_cast<std::size_t>(std::max<std::int64_t>(second, 0));
  if (index >= series->per_second.size()) series->per_second.resize(index + 1);
  series->per_second[index] += requests;
}

void Reader::read_facts() {
  rows("SELECT key, value FROM t_run ORDER BY rowid", [this](const Statement& row) {
    report_.facts.emplace_back(row.text(0), row.text(1));
    if (row.text(0) == "duration_ms") report_.duration_ms = row.real(1);
  });
}

void Reader::read_outcomes() {
  rows(
      "SELECT gateway, status, cause, second, sum(requests), sum(upstream_attempts), sum(reached) "
      "FROM t_per_second GROUP BY 1, 2, 3, 4 ORDER BY 1, 4",
      [this](const Statement& row) {
        GatewayReport& seen = gateway(row.text(0));
        count(seen, static_cast<int>(row.integer(1)), row.text(2), row.integer(3), row.integer(4));
        seen.upstream_attempts += row.integer(5);
        seen.reached += row.integer(6);
      });
}

void Reader::read_latency() {
  rows("SELECT gateway, second, max_ns, histogram FROM t_latency", [this](const Statement& row) {
    const Result<Histogram> histogram = decode_hdr(row.blob(3));
    if (!histogram) {
      error_ = histogram.error();
      return;
    }
    seconds_[{row.text(0), row.integer(1)}].merge(
        Histogram::from_counts(histogram->counts(), Duration{row.integer(2)}));
  });
}

// A gateway that records nothing itself is seen through its client.
void Reader::read_sends() {
  rows(
      "SELECT gateway, coalesce(status, 0), CASE WHEN status IS NULL THEN coalesce(error, "
      "'no answer') ELSE '' END, intended_ns / 1000000000, count(*) FROM t_send "
      "WHERE gateway NOT IN (SELECT DISTINCT gateway FROM t_per_second WHERE gateway NOT NULL) "
      "GROUP BY 1, 2, 3, 4 ORDER BY 1, 4",
      [this](const Statement& row) {
        GatewayReport& seen = gateway(row.text(0));
        seen.ours = false;
        count(seen, static_cast<int>(row.integer(1)), row.text(2), row.integer(3), row.integer(4));
      });
  rows(
      "SELECT gateway, intended_ns / 1000000000, done_ns - sent_ns FROM t_send "
      "WHERE done_ns NOT NULL AND sent_ns NOT NULL AND gateway NOT IN "
      "(SELECT DISTINCT gateway FROM t_per_second WHERE gateway NOT NULL)",
      [this](const Statement& row) {
        seconds_[{row.text(0), row.integer(1)}].record(Duration{row.integer(2)});
      });
}

void Reader::read_client() {
  rows(
      "SELECT gateway, count(*), sum(status IS NULL OR done_ns IS NULL), "
      "sum(status_expected NOT NULL), sum(status_expected NOT NULL AND status = status_expected "
      "AND done_ns NOT NULL AND body_complete AND body_as_expected), sum(side_connection) "
      "FROM t_send GROUP BY 1",
      [this](const Statement& row) {
        gateway(row.text(0)).client = ClientFigures{row.integer(1), row.integer(2), row.integer(3),
                                                    row.integer(4), row.integer(5)};
      });
}

void Reader::read_origins() {
  rows(
      "SELECT gateway, sum(n), sum(n - 1), sum(CASE WHEN method = 'POST' THEN n - 1 ELSE 0 END) "
      "FROM (SELECT gateway, method, count(*) AS n FROM t_execution "
      "GROUP BY gateway, method, coalesce(business_key, request_id)) GROUP BY 1",
      [this](const Statement& row) {
        gateway(row.text(0)).origin = OriginFigures{row.integer(1), row.integer(2), row.integer(3)};
      });
}

void Reader::read_timeline() {
  rows(
      "SELECT name, coalesce(gateway, ''), from_ns / 1e6, until_ns / 1e6 FROM t_phase "
      "ORDER BY from_ns, rowid",
      [this](const Statement& row) {
        report_.phases.push_back(
            Phase{row.text(0), row.text(1), row.real(2), real_or_nothing(row, 3)});
      });
  rows(
      "SELECT gateway, name, kind, target, at_ms, until_ms, hits FROM faults "
      "ORDER BY at_ms, name, gateway",
      [this](const Statement& row) {
        report_.faults.push_back(FaultReport{row.text(0), row.text(1), row.text(2), row.text(3),
                                             row.real(4), real_or_nothing(row, 5), row.integer(6)});
      });
  rows(
      "SELECT gateway, fault, planned, observed, count(*), min(at_ns) / 1e6, max(at_ns) / 1e6 "
      "FROM t_fault_hit GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 5 DESC, 3, 4",
      [this](const Statement& row) {
        report_.hits.push_back(HitReport{row.text(0), row.text(1), row.text(2), row.text(3),
                                         row.integer(4), row.real(5), row.real(6)});
      });
  rows(
      "SELECT gateway, at_ns / 1e6, kind, subject, from_state, to_state, reason "
      "FROM t_transition ORDER BY at_ns, rowid",
      [this](const Statement& row) {
        report_.transitions.push_back(TransitionReport{row.text(0), row.real(1), row.text(2),
                                                       row.text(3), row.text(4), row.text(5),
                                                       row.text(6)});
      });
  rows(
      "SELECT gateway, endpoint, verdict, count(*) FROM t_probe GROUP BY 1, 2, 3 "
      "ORDER BY 1, 2, 4 DESC",
      [this](const Statement& row) {
        report_.probes.push_back(
            ProbeReport{row.text(0), row.text(1), row.text(2), row.integer(3)});
      });
  rows("SELECT place, sum(count), coalesce(reason, '') FROM t_dropped GROUP BY 1, 3",
       [this](const Statement& row) {
         report_.losses.push_back(LossReport{row.text(0), row.integer(1), row.text(2)});
       });
}

void Reader::finish_gateways() {
  std::size_t seconds = static_cast<std::size_t>(std::ceil(report_.duration_ms / 1000));
  for (const GatewayReport& each : report_.gateways) {
    for (const OutcomeSeries& series : each.outcomes) {
      seconds = std::max(seconds, series.per_second.size());
    }
  }
  for (GatewayReport& each : report_.gateways) {
    each.latency_per_second.resize(seconds);
    Histogram whole;
    for (auto at = seconds_.lower_bound({each.name, INT64_MIN});
         at != seconds_.end() && at->first.first == each.name; ++at) {
      const auto index = static_cast<std::size_t>(std::max<std::int64_t>(at->first.second, 0));
      if (index < seconds) each.latency_per_second[index] = figures_of(at->second);
      whole.merge(at->second);
    }
    each.latency = figures_of(whole);
    for (OutcomeSeries& series : each.outcomes)
      series.per_second.resize(seconds);
    std::ranges::sort(each.outcomes, {}, [](const OutcomeSeries& series) {
      return std::pair(series.status == 0 ? 1000 : series.status, series.cause);
    });
  }
  const std::vector<std::string> variants = variants_in(report_.fact(kVariantsFact));
  std::ranges::sort(report_.gateways, {}, [&variants](const GatewayReport& each) {
    return std::pair(place_among(variants, each.name), each.name);
  });
}

Result<RunReport> Reader::read() {
  report_.path = database_.path();
  read_facts();
  read_outcomes();
  read_latency();
  read_sends();
  read_client();
  read_origins();
  read_timeline();
  finish_gateways();
  if (error_) return *error_;
  return std::move(report_);
}

}  // namespace

std::int64_t GatewayReport::with_status(int from, int until) const {
  std::int64_t found = 0;
  for (const OutcomeSeries& series : outcomes) {
    if (series.status >= from && series.status <= until) found += series.requests;
  }
  return found;
}

std::int64_t GatewayReport::unanswered() const {
  return with_status(0, 0);
}

std::string RunReport::fact(std::string_view key) const {
  for (const auto& [known, value] : facts) {
    if (known == key) return value;
  }
  return {};
}

std::string RunReport::title() const {
  const std::string name = fact("name");
  return name.empty() ? std::filesystem::path(path).filename().string() : name;
}

Result<RunReport> read_report(const std::string& path) {
  Result<Judgement> judgement = read_judgement(path);
  if (!judgement) return judgement.error();
  Result<Database> database = open_run_file(path, Database::Mode::read);
  if (!database) return database.error();
  Result<RunReport> report = Reader(*database).read();
  if (!report) return report.error();
  report->judgement = std::move(*judgement);
  return std::move(*report);
}

}  // namespace gatedrill::reports
