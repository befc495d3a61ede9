#include "replay/replay_source.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>

#include "gateway/http/head.hpp"

namespace gatedrill::replay {
namespace {

using http::equals_ignoring_case;
using Reason = SkippedExchange::Reason;

std::optional<std::string_view> find(const std::vector<RecordedField>& fields,
                                     std::string_view name) {
  for (const RecordedField& field : fields) {
    if (equals_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

// Calls use(token) for each member of the comma-separated Connection fields.
template <class Use>
void for_each_connection_token(const std::vector<RecordedField>& fields, Use use) {
  for (const RecordedField& field : fields) {
    if (!equals_ignoring_case(field.name, "Connection")) continue;
    std::string_view rest = field.value;
    while (true) {
      const std::size_t comma = rest.find(',');
      if (const std::string_view token = http::trim(rest.substr(0, comma)); !token.empty())
        use(token);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
}

bool has_connection_token(const std::vector<RecordedField>& fields, std::string_view wanted) {
  bool found = false;
  for_each_connection_token(fields, [&](std::string_view token) {
    found = found || equals_ignoring_case(token, wanted);
  });
  return found;
}

// Fields that speak of one connection or of the framing: the replay has its own.
bool belongs_to_the_connection(std::string_view name) {
  constexpr std::array<std::string_view, 13> kNames = {
      "Connection",  "Keep-Alive",     "Proxy-Connection",  "Proxy-Authorization",
      "TE",          "Trailer",        "Transfer-Encoding", "Upgrade",
      "Expect",      "Content-Length", "HTTP2-Settings",    kRequestIdField,
      kExchangeField};
  return std::any_of(kNames.begin(), kNames.end(),
                     [name](std::string_view known) { return equals_ignoring_case(name, known); });
}

// The first path byte of an absolute-form target; npos for other forms.
std::string origin_form(std::string_view target, std::string_view method) {
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos || target.starts_with('/')) return std::string{target};
  const std::size_t path = target.find_first_of("/?#", scheme + 3);
  if (path == std::string_view::npos) return method == "OPTIONS" ? "*" : "/";
  std::string origin{target.substr(path, target.find('#', path) - path)};
  if (!origin.starts_with('/')) origin.insert(origin.begin(), '/');
  return origin;
}

bool writable(std::string_view text, std::string_view also_forbidden) {
  return std::none_of(text.begin(), text.end(), [also_forbidden](char c) {
    return c == '\r' || c == '\n' || c == '\0' || also_forbidden.find(c) != std::string_view::npos;
  });
}

// Whether the head can be written so that it reads as one request with these parts.
bool is_message(const RecordedRequest& request, const ReplayRequest& planned) {
  int hosts = 0;
  for (const RecordedField& field : request.fields) {
    if (equals_ignoring_case(field.name, "Host")) ++hosts;
    if (field.name.empty() || !writable(field.name, " \t:") || !writable(field.value, ""))
      return false;
  }
  return hosts <= 1 && !planned.target.empty() && writable(planned.target, " \t") &&
         writable(planned.method, " \t") && writable(planned.host, " \t/");
}

std::optional<Reason> reason_to_skip(const RecordedExchange& exchange) {
  if (!exchange.request || exchange.request->method.empty()) return Reason::request_not_seen;
  const RecordedRequest& request = *exchange.request;
  if (request.method == "CONNECT") return Reason::connect_method;
  if (!is_whole(request)) return Reason::request_incomplete;
  const bool switched = exchange.tunnel || (exchange.response && exchange.response->status == 101);
  const auto upgrade = find(request.fields, "Upgrade");
  if (switched || (upgrade && equals_ignoring_case(*upgrade, "websocket"))) return Reason::upgrade;
  return std::nullopt;
}

// A redacted body holds pseudonyms, which show unless it is coded.
bool body_was_redacted(const RecordedResponse& response) {
  return response.redacted && (response.body.find("redacted-") != std::string::npos ||
                               find(response.fields, "Content-Encoding"));
}

std::optional<ExpectedAnswer> expected_answer(const RecordedExchange& exchange) {
  if (!exchange.response || exchange.response->status == 0) return std::nullopt;
  const RecordedResponse& response = *exchange.response;
  ExpectedAnswer expected;
  expected.status = response.status;
  expected.body_bytes = response.body.size();
  const bool as_it_was = is_whole(response) && !body_was_redacted(response);
  if (as_it_was) expected.body_digest = http::BodyDigest::of(response.body);
  return expected;
}

std::string host_of(const RecordedExchange& exchange) {
  if (const auto host = find(exchange.request->fields, "Host"))
    return std::string{http::trim(*host)};
  return exchange.host.empty() ? exchange.server : exchange.host;
}

// The fields that are sent; a request that had no Host gets one, first.
std::vector<RecordedField> fields_to_send(const RecordedRequest& request, const std::string& host) {
  std::vector<RecordedField> fields;
  if (!find(request.fields, "Host")) fields.push_back({"Host", host});
  for (const RecordedField& field : request.fields) {
    if (belongs_to_the_connection(field.name)) continue;
    if (!equals_ignoring_case(field.name, "Host") &&
        has_connection_token(request.fields, field.name)) {
      continue;
    }
    fields.push_back(field);
  }
  return fields;
}

ReplayRequest plan_request(const RecordedExchange& exchange) {
  const RecordedRequest& request = *exchange.request;
  ReplayRequest planned;
  planned.exchange = exchange.id;
  planned.connection = exchange.connection;
  planned.method = request.method;
  planned.target = origin_form(request.target, request.method);
  planned.host = host_of(exchange);
  planned.fields = fields_to_send(request, planned.host);
  const bool old_version = request.version == "HTTP/1.0";
  planned.asks_to_close = has_connection_token(request.fields, "close") ||
                          (old_version && !has_connection_token(request.fields, "keep-alive"));
  if (planned.asks_to_close) planned.fields.push_back({"Connection", "close"});
  planned.body = request.body;
  planned.expected = expected_answer(exchange);
  planned.method_name = intern_untrusted(planned.method);
  planned.path_name = intern_untrusted(http::path_of(planned.target));
  return planned;
}

// POST and its kin say their length even when it is zero (RFC 9110 8.6).
bool says_length(const ReplayRequest& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

std::string count_by_reason(const std::vector<SkippedExchange>& skipped) {
  std::map<std::string_view, std::size_t> counts;
  for (const SkippedExchange& exchange : skipped)
    ++counts[to_string(exchange.reason)];
  std::string text;
  for (const auto& [reason, count] : counts) {
    if (!text.empty()) text += ", ";
    text += std::to_string(count) + " " + std::string{reason};
  }
  return text;
}

std::optional<Error> check(const loadgen::CopyTiming& timing) {
  if (!(timing.speed > 0)) return usage_error("the replay speed must be more than 0");
  if (timing.rate_per_second && !(*timing.rate_per_second > 0)) {
    return usage_error("the replay rate must be more than 0 requests a second");
  }
  if (timing.rate_per_second && !timing.duration) {
    return usage_error(
        "a replay at a stated rate loops the recording: say for how long (--duration)");
  }
  if (timing.duration && *timing.duration <= Duration::zero()) {
    return usage_error("the replay's duration must be more than 0");
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(SkippedExchange::Reason reason) {
  switch (reason) {
    case Reason::request_not_seen:
      return "request_not_seen";
    case Reason::request_incomplete:
      return "request_incomplete";
    case Reason::connect_method:
      return "connect_method";
    case Reason::upgrade:
      return "upgrade";
    case Reason::not_a_message:
      return "not_a_message";
  }
  return "request_not_seen";
}

Result<std::shared_ptr<const ReplayPlan>> ReplayPlan::make(
    const std::vector<RecordedExchange>& exchanges, loadgen::CopyTiming timing) {
  if (const auto error = check(timing)) return *error;

  std::shared_ptr<ReplayPlan> plan{new ReplayPlan};
  plan->timing_ = timing;
  std::vector<const RecordedExchange*> ordered;
  ordered.reserve(exchanges.size());
  for (const RecordedExchange& exchange : exchanges)
    ordered.push_back(&exchange);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    return std::tie(a->at, a->id) < std::tie(b->at, b->id);
  });

  std::int64_t first_ns = 0;
  std::map<std::int64_t, std::size_t> last_of_connection;
  for (const RecordedExchange* exchange : ordered) {
    std::optional<Reason> reason = reason_to_skip(*exchange);
    if (!reason) {
      ReplayRequest request = plan_request(*exchange);
      if (is_message(*exchange->request, request)) {
        if (plan->requests_.empty()) first_ns = exchange->at.ns;
        request.offset = Duration{exchange->at.ns - first_ns};
        last_of_connection[request.connection] = plan->requests_.size();
        plan->offsets_.push_back(request.offset);
        plan->requests_.push_back(std::move(request));
        if (!exchange->request->defects.empty()) ++plan->mended_;
        continue;
      }
      reason = Reason::not_a_message;
    }
    plan->skipped_.push_back({exchange->id, *reason});
  }
  if (plan->requests_.empty()) {
    const std::string why = exchanges.empty() ? "it is empty" : count_by_reason(plan->skipped_);
    return evidence_error("the recording holds no request that can be replayed: " + why);
  }
  for (const auto& [connection, index] : last_of_connection) {
    plan->requests_[index].last_on_connection = true;
  }
  return std::shared_ptr<const ReplayPlan>{std::move(plan)};
}

double ReplayPlan::stretch() const {
  return loadgen::CopySchedule(offsets_, timing_).stretch();
}

std::string ReplayPlan::describe() const {
  std::string text = std::to_string(requests_.size()) + " requests to replay";
  if (!skipped_.empty()) {
    text += ", " + std::to_string(skipped_.size()) + " exchanges not (" +
            count_by_reason(skipped_) + ")";
  }
  if (mended_ > 0)
    text += ", " + std::to_string(mended_) + " without the flaws they were recorded with";
  return text;
}

ReplaySource::ReplaySource(std::shared_ptr<const ReplayPlan> plan)
    : plan_(std::move(plan)), schedule_(plan_->offsets_, plan_->timing_) {}

std::optional<PlannedSend> ReplaySource::next() {
  const auto due = schedule_.next();
  if (!due) return std::nullopt;
  const ReplayRequest& request = plan_->requests_[due->request];
  PlannedSend send;
  send.request_id =
      RequestId{"c" + std::to_string(due->copy) + "-" + std::to_string(request.exchange)};
  send.intended = due->at;
  send.connection = ConnectionKey{due->copy, request.connection};
  send.request = &request;
  return send;
}

std::string idempotency_key_of(const PlannedSend& send) {
  const std::string_view recorded = value_of(send.request->fields, kIdempotencyKeyField);
  if (recorded.empty()) return {};
  return std::string(recorded) + "-c" + std::to_string(send.connection.copy);
}

std::vector<RecordedField> fields_of(const PlannedSend& send) {
  std::vector<RecordedField> fields = send.request->fields;
  for (RecordedField& field : fields) {
    if (http::equals_ignoring_case(field.name, kIdempotencyKeyField)) {
      field.value = idempotency_key_of(send);
    }
  }
  if (says_length(*send.request)) {
    fields.push_back({"Content-Length", std::to_string(send.request->body.size())});
  }
  fields.push_back({std::string{kExchangeField}, std::to_string(send.request->exchange)});
  fields.push_back({std::string{kRequestIdField}, std::string{send.request_id.view()}});
  return fields;
}

std::string head_bytes(const PlannedSend& send) {
  const ReplayRequest& request = *send.request;
  std::string head;
  head.reserve(512);
  head.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  for (const RecordedField& field : fields_of(send)) {
    head.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  return head.append("\r\n");
}

}  // namespace gatedrill::replay
