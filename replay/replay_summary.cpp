#include "replay/replay_summary.hpp"

#include <array>
#include <charconv>
#include <map>

#include <nlohmann/json.hpp>

namespace gatedrill::replay {
namespace {

std::string number(double value, int decimals) {
  std::array<char, 48> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

std::string ms(Duration duration) {
  return number(to_ms(duration), 1) + " ms";
}

std::string seconds(Duration duration) {
  return number(to_ms(duration) / 1000, 1) + " s";
}

std::string quantiles(const Histogram& histogram) {
  if (histogram.count() == 0) return "none";
  return "p50 " + ms(histogram.at_quantile(0.5)) + ", p99 " + ms(histogram.at_quantile(0.99)) +
         ", max " + ms(histogram.max());
}

std::string error_counts(const ReplayFigures& figures) {
  std::string text;
  for (const auto& [error, count] : figures.errors) {
    text += (text.empty() ? ": " : ", ") + std::to_string(count) + " " + error;
  }
  return text;
}

std::string difference_line(const SendDone& send) {
  std::string line = "  " + std::string(send.request_id.view()) + " " +
                     std::string(name_of(send.method)) + " " + std::string(name_of(send.path)) +
                     ": ";
  if (send.error) return line + std::string(name_of(send.error));
  if (send.status != send.status_expected) {
    return line + "status " + std::to_string(send.status) + ", recorded " +
           std::to_string(send.status_expected);
  }
  return line + "another body";
}

nlohmann::ordered_json quantiles_json(const Histogram& histogram) {
  if (histogram.count() == 0) return nullptr;
  return {{"p50", to_ms(histogram.at_quantile(0.5))},
          {"p99", to_ms(histogram.at_quantile(0.99))},
          {"max", to_ms(histogram.max())}};
}

nlohmann::ordered_json difference_json(const SendDone& send) {
  nlohmann::ordered_json difference = {{"request_id", send.request_id.view()},
                                       {"method", name_of(send.method)},
                                       {"path", name_of(send.path)},
                                       {"status", send.status},
                                       {"status_expected", send.status_expected}};
  if (send.error) difference["error"] = name_of(send.error);
  difference["body_as_expected"] = send.body_as_expected;
  return difference;
}

std::map<std::string, std::size_t> skipped_by_reason(const ReplayPlan& plan) {
  std::map<std::string, std::size_t> counts;
  for (const SkippedExchange& skipped : plan.skipped())
    ++counts[std::string{to_string(skipped.reason)}];
  return counts;
}

}  // namespace

std::string summary_text(const ReplaySubject& subject,
                         const ReplayPlan& plan,
                         const ReplayOutcome& outcome) {
  const ReplayFigures& figures = outcome.figures;
  std::string text = "replayed " + subject.recording + " to " + subject.target + ": " +
                     std::to_string(figures.due) + " requests in " + seconds(outcome.took) +
                     (outcome.interrupted ? ", interrupted" : "") + "\n";
  text += "  recording    " + plan.describe() + "\n";
  if (plan.stretch() > 1) {
    text += "  stretched    " + number(plan.stretch(), 2) +
            " times: the recording is faster than the stated rate\n";
  }
  if (figures.unsent > 0) text += "  not sent     " + std::to_string(figures.unsent) + "\n";
  text += "  answered     " + std::to_string(figures.answered) + " whole, " +
          std::to_string(figures.failed) + " failed" + error_counts(figures) + "\n";
  text += "  begun late   " + quantiles(figures.begun_late) + "\n";
  text += "  sent late    " + quantiles(figures.sent_late) + " (connecting included)\n";
  text += "  response     " + quantiles(figures.response) + " (from the intended time)\n";
  text += "  connections  " + std::to_string(figures.connections) + " opened, " +
          std::to_string(figures.side_connections) + " of them beside a busy one, " +
          std::to_string(figures.replaced_connections) + " for one that was closed while idle\n";
  if (!subject.compare) return text;
  text += "  compared     " + std::to_string(figures.compared) +
          " with the recorded answer: " + std::to_string(figures.status_differs) +
          " of another status, " + std::to_string(figures.body_differs) + " of another body\n";
  for (const SendDone& send : outcome.differing)
    text += difference_line(send) + "\n";
  if (figures.differences() > outcome.differing.size()) {
    text += "  and " + std::to_string(figures.differences() - outcome.differing.size()) +
            " more: the view `sends` of run.db (-o) has them all\n";
  }
  return text;
}

std::string summary_json(const ReplaySubject& subject,
                         const ReplayPlan& plan,
                         const ReplayOutcome& outcome) {
  const ReplayFigures& figures = outcome.figures;
  nlohmann::ordered_json json;
  json["recording"] = subject.recording;
  json["target"] = subject.target;
  json["valid"] = outcome.invalid.empty();
  if (!outcome.invalid.empty()) json["invalid_reason"] = outcome.invalid;
  json["interrupted"] = outcome.interrupted;
  json["duration_ms"] = to_ms(outcome.took);
  json["recorded_requests"] = plan.requests().size();
  json["not_replayed"] = skipped_by_reason(plan);
  json["stretch"] = plan.stretch();
  json["requests"] = figures.due;
  json["unsent"] = figures.unsent;
  json["answered"] = figures.answered;
  json["failed"] = figures.failed;
  json["errors"] = figures.errors;
  json["begun_late_ms"] = quantiles_json(figures.begun_late);
  json["sent_late_ms"] = quantiles_json(figures.sent_late);
  json["response_ms"] = quantiles_json(figures.response);
  json["connections"] = figures.connections;
  json["side_connections"] = figures.side_connections;
  json["replaced_connections"] = figures.replaced_connections;
  if (subject.compare) {
    json["compared"] = figures.compared;
    json["status_differs"] = figures.status_differs;
    json["body_differs"] = figures.body_differs;
    json["differences"] = figures.differences();
    json["first_differences"] = nlohmann::ordered_json::array();
    for (const SendDone& send : outcome.differing) {
      json["first_differences"].push_back(difference_json(send));
    }
  }
  // Paths of the recording may hold any bytes.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string progress_line(Duration since_start, const ReplayFigures& figures) {
  return seconds(since_start) + ": " + std::to_string(figures.due) + " due, " +
         std::to_string(figures.answered) + " answered, " + std::to_string(figures.failed) +
         " failed, " + std::to_string(figures.in_flight) + " under way, begun late p99 " +
         ms(figures.begun_late.at_quantile(0.99));
}

}  // namespace gatedrill::replay
