// What a report says about one run, as values: read once from run.db, then rendered as text, JSON,
// HTML, JUnit or Markdown without another query.
//
// Totals and percentiles are those of the exact counters and histograms; of a gateway that is not
// ours, those of the client's sends. Times are in milliseconds from the start of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/core/result.hpp"
#include "reports/expectation/expectation.hpp"

namespace gatedrill::reports {

struct LatencyFigures {
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
  double p999_ms = 0;
  double max_ms = 0;
};

// How requests ended, in total and second by second (of their arrival).
struct OutcomeSeries {
  int status = 0;     // 0: no answer
  std::string cause;  // of a gateway that is not ours: what the client noted, empty if answered
  std::int64_t requests = 0;
  std::vector<std::int64_t> per_second;
};

struct ClientFigures {
  std::int64_t intended = 0;
  std::int64_t missing = 0;
  std::int64_t comparable = 0;   // have a recorded answer
  std::int64_t as_recorded = 0;  // answered whole, and as the recording has it
  std::int64_t side_connections = 0;
};

struct OriginFigures {
  std::int64_t executions = 0;
  std::int64_t repeated = 0;        // beyond the first of one business key
  std::int64_t repeated_posts = 0;  // of these, POST
};

struct GatewayReport {
  std::string name;
  bool ours = true;  // records its own requests; otherwise seen from the client only
  std::int64_t requests = 0;
  std::int64_t upstream_attempts = 0;
  std::int64_t reached = 0;  // requests sent upstream at least once
  LatencyFigures latency;
  std::vector<OutcomeSeries> outcomes;  // by status, no answer last; then by cause
  // One entry a second from the first second of the run; nothing where there were no requests.
  std::vector<std::optional<LatencyFigures>> latency_per_second;
  std::optional<ClientFigures> client;
  std::optional<OriginFigures> origin;

  [[nodiscard]] std::int64_t with_status(int from, int until) const;
  [[nodiscard]] std::int64_t unanswered() const;

  [[nodiscard]] std::int64_t retries() const { return upstream_attempts - reached; }
};

struct Phase {
  std::string name;
  std::string gateway;  // empty: of all
  double from_ms = 0;
  std::optional<double> until_ms;
};

struct FaultReport {
  std::string gateway;
  std::string name;
  std::string kind;
  std::string target;
  double from_ms = 0;
  std::optional<double> until_ms;
  std::int64_t hits = 0;
};

// What a fault was to do and what was seen of it, and how often.
struct HitReport {
  std::string gateway;
  std::string fault;
  std::string planned;
  std::string observed;
  std::int64_t hits = 0;
  double first_ms = 0;
  double last_ms = 0;
};

struct TransitionReport {
  std::string gateway;
  double at_ms = 0;
  std::string kind;
  std::string subject;
  std::string from_state;
  std::string to_state;
  std::string reason;
};

struct ProbeReport {
  std::string gateway;
  std::string endpoint;
  std::string verdict;
  std::int64_t probes = 0;
};

struct LossReport {
  std::string place;
  std::int64_t count = 0;
  std::string reason;
};

struct RunReport {
  std::string path;
  std::vector<std::pair<std::string, std::string>> facts;  // the `run` view, as recorded
  double duration_ms = 0;
  Judgement judgement;
  std::vector<GatewayReport> gateways;
  std::vector<Phase> phases;
  std::vector<FaultReport> faults;
  std::vector<HitReport> hits;
  std::vector<TransitionReport> transitions;
  std::vector<ProbeReport> probes;
  std::vector<LossReport> losses;

  // A fact, or empty.
  [[nodiscard]] std::string fact(std::string_view key) const;
  // The run's name, or that of its file.
  [[nodiscard]] std::string title() const;
};

Result<RunReport> read_report(const std::string& path);

}  // namespace gatedrill::reports
