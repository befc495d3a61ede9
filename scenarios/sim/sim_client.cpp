#include "scenarios/sim/sim_client.hpp"

#include <memory>
#include <utility>

#include "gateway/http/head.hpp"

namespace gatedrill::scenarios {
namespace {

// As the live replay's client.
constexpr Duration kClientTimeout = std::chrono::seconds{30};

bool as_expected(const replay::ReplayRequest& request, const SimOutcome& outcome) {
  if (!request.expected) return outcome.status != 0;
  if (outcome.answer == nullptr || outcome.status != request.expected->status) return false;
  if (outcome.answer->exchange == request.exchange) return true;
  if (request.method == "HEAD" || !request.expected->body_digest) return true;
  return http::BodyDigest::of(outcome.answer->body) == *request.expected->body_digest;
}

}  // namespace

void SimClient::start(replay::ReplaySource source) {
  source_.emplace(std::move(source));
  schedule_next();
}

void SimClient::schedule_next() {
  const auto planned = source_->next();
  if (!planned) return;
  queue_.at(planned->intended, [this, send_now = *planned] {
    schedule_next();
    send(send_now);
  });
}

void SimClient::send(const replay::PlannedSend& planned) {
  const replay::ReplayRequest& request = *planned.request;
  SendDone done;
  done.request_id = planned.request_id;
  done.source = intern("replay");
  done.method = request.method_name;
  done.path = request.path_name;
  done.intended = planned.intended;
  done.sent = queue_.now();
  if (request.expected) {
    done.status_expected = static_cast<std::uint16_t>(request.expected->status);
  }
  int& in_flight = in_flight_[planned.connection];
  done.side_connection = in_flight > 0;
  ++in_flight;

  std::string& exchange = exchange_texts_[request.exchange];
  if (exchange.empty()) exchange = std::to_string(request.exchange);

  SimGateway::Arrival arrival;
  arrival.request.request_id = planned.request_id;
  arrival.request.business_key = std::string_view(replay::idempotency_key_of(planned));
  arrival.request.method = request.method;
  arrival.request.target = request.target;
  arrival.request.exchange = exchange;
  arrival.request.method_name = request.method_name;
  arrival.request.path_name = request.path_name;
  arrival.host = request.host;
  arrival.fields = &request.fields;
  arrival.body_bytes = request.body.size();

  auto open = std::make_shared<bool>(true);
  const std::uint64_t number = gateway_.receive(arrival, [=, this](const SimOutcome& outcome) {
    if (!std::exchange(*open, false)) return;
    end(planned, done, outcome);
  });
  if (!*open) return;
  queue_.at(queue_.now() + kClientTimeout, [=, this] {
    if (!std::exchange(*open, false)) return;
    gateway_.abandon(number);
    SendDone timed_out = done;
    timed_out.error = intern("response_timeout");
    --in_flight_[planned.connection];
    sink_.publish({variant_, timed_out});
  });
}

void SimClient::end(const replay::PlannedSend& planned, SendDone done, const SimOutcome& outcome) {
  --in_flight_[planned.connection];
  done.done = queue_.now();
  done.status = static_cast<std::uint16_t>(outcome.status);
  done.body_complete = true;
  done.body_as_expected = as_expected(*planned.request, outcome);
  sink_.publish({variant_, done});
}

}  // namespace gatedrill::scenarios
