#include "tests/gateway/policy/exchange_world.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "gateway/policy/exchange.hpp"

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

class Counter final : public EventSink {
 public:
  void publish(const Event& event) noexcept override {
    if (const auto* request = std::get_if<RequestDone>(&event.body)) requests.push_back(*request);
    if (const auto* attempt = std::get_if<AttemptDone>(&event.body)) attempts.push_back(*attempt);
  }

  std::vector<RequestDone> requests;
  std::vector<AttemptDone> attempts;
};

struct Live {
  Live(const Exchange& started, const Exchange::Request& sent) : exchange(started), request(sent) {}

  Exchange exchange;
  Exchange::Request request;
  Step step = Done{};
  TimePoint started_at{};
  std::vector<std::size_t> tried;
  bool bytes_written = false;  // in some attempt that failed
  bool must_be_fresh = false;  // the attempt before met a stale connection
  int charged_failures = 0;
};

UpstreamConfig some_upstream(Choices& choices) {
  UpstreamConfig config;
  config.name = "shop";
  for (std::uint64_t i = 0; i <= choices.below(4); ++i)
    config.endpoints.push_back("10.0.0." + std::to_string(i) + ":80");
  config.max_requests = static_cast<int>(choices.below(12));
  if (choices.chance(0.6)) {
    config.queue.max = static_cast<int>(choices.below(6));
    config.queue.timeout = std::chrono::milliseconds{1 + choices.below(250)};
  }
  config.health.enabled = true;
  config.load_balancer.panic_percent = static_cast<int>(choices.below(101));
  config.breaker.enabled = choices.chance(0.7);
  config.breaker.consecutive_failures = 1 + static_cast<int>(choices.below(30));
  config.breaker.min_calls = 1 + static_cast<int>(choices.below(40));
  config.breaker.open_base = 500ms;
  config.breaker.open_max = 2s;
  config.breaker.probe_timeout = 3s;
  config.pool.enabled = choices.chance(0.9);
  config.pool.max_connections = static_cast<int>(choices.below(6));
  config.pool.max_idle = static_cast<int>(choices.below(5));
  config.pool.idle_timeout = std::chrono::seconds{1 + choices.below(20)};
  config.retry_budget.percent = static_cast<int>(choices.below(60));
  config.retry_budget.min_concurrent = static_cast<int>(choices.below(4));
  return config;
}

RouteConfig some_route(Choices& choices) {
  RouteConfig config;
  config.retry.max_retries = static_cast<int>(choices.below(10));
  config.retry.on_connect = choices.chance(0.9);
  config.retry.on_stale_reuse = choices.chance(0.9);
  config.retry.on_reset = choices.chance(0.5);
  config.retry.on_timeout = choices.chance(0.5);
  if (choices.chance(0.5)) config.retry.on_status = {503};
  if (choices.chance(0.3)) config.rate_limit = {.count = 20};
  return config;
}

// The upstream, its exchanges and the checks.
class World {
 public:
  explicit World(Choices& choices)
      : choices_(choices),
        upstream_config_(some_upstream(choices)),
        upstream_(upstream_config_, Random(1)),
        pools_(upstream_config_, next_id_),
        route_config_(some_route(choices)),
        route_{route_config_, intern("order"), &upstream_, TokenBucket(route_config_.rate_limit)} {}

  void play(int events) {
    for (int i = 0; i < events && !choices_.empty(); ++i) {
      now_ += std::chrono::milliseconds{choices_.below(80)};
      if (choices_.chance(0.05)) flip_health();
      if (live_.size() < 12 && choices_.chance(0.4)) {
        start();
      } else if (!live_.empty()) {
        advance(choices_.below(live_.size()), choices_.chance(0.06));
      }
      check();
    }
    while (!live_.empty()) {
      now_ += 1ms;
      advance(choices_.below(live_.size()), false);
      check();
    }
    require(upstream_.active() == 0, "no request stays in the upstream");
    require(!upstream_.queue().grant(), "nobody stays in the queue");
    require(upstream_.retry_budget().in_flight() == 0, "no retry stays in the budget");
    require(ended_ == started_, "every request ends");
  }

 private:
  void flip_health() {
    const std::size_t endpoint = choices_.below(upstream_.endpoint_count());
    if (upstream_.on_probe_done(now_, endpoint, choices_.chance(0.6), "status") &&
        !upstream_.endpoint_up(endpoint)) {
      pools_.pool(endpoint).evict_all();
    }
    static_cast<void>(upstream_.take_transitions());
  }

  void start() {
    Exchange::Request request;
    request.id = RequestId("r-" + std::to_string(++started_));
    request.facts.safe = choices_.chance(0.5);
    request.facts.idempotent = request.facts.safe || choices_.chance(0.4);
    request.facts.has_idempotency_key = choices_.chance(0.2);
    request.facts.body_replayable = choices_.chance(0.9);
    live_.emplace_back(Exchange(route_, pools_, request), request);
    live_.back().started_at = now_;
    const bool others_wait =
        std::any_of(live_.begin(), live_.end(), [](const Live& each) { return waits(each); });
    const Step step = live_.back().exchange.start(now_);
    require(!others_wait || !std::holds_alternative<Send>(step), "nobody overtakes");
    take(live_.size() - 1, step);
  }

  // The next event of one exchange: what its step asks for, or the client goes.
  void advance(std::size_t index, bool client_goes) {
    Live& each = live_[index];
    Exchange& exchange = each.exchange;
    if (client_goes) {
      const Step step = exchange.on_client_gone(now_);
      require(std::holds_alternative<Done>(step), "a client that leaves ends its request");
      require(!std::get<Done>(step).keep_connection, "and its connection is not kept");
      take(index, step);
    } else if (choices_.chance(0.03) && !std::holds_alternative<LocalReply>(each.step)) {
      constexpr std::array kCauses = {Cause::client_body_timeout, Cause::malformed_request,
                                      Cause::draining};
      take(index, exchange.on_request_failed(now_, kCauses[choices_.below(kCauses.size())]));
    } else if (std::holds_alternative<Send>(each.step)) {
      if (choices_.chance(0.5)) {
        constexpr std::array kStatuses = {200, 200, 204, 404, 500, 503};
        each.bytes_written = true;
        const int status = kStatuses[choices_.below(kStatuses.size())];
        const Step step = exchange.on_response_head(now_, status, 1s);
        if (std::holds_alternative<Wait>(step)) {
          require(each.request.facts.safe && status == 503,
                  "only safe requests are sent again after a 503");
          require(std::get<Wait>(step).until >= now_ + 1s, "Retry-After is honoured");
        }
        take(index, step);
      } else {
        fail(index);
      }
    } else if (std::holds_alternative<Forward>(each.step)) {
      const Cause cause = choices_.chance(0.8)   ? Cause::ok
                          : choices_.chance(0.5) ? Cause::body_truncated
                                                 : Cause::body_idle_timeout;
      take(index, exchange.on_response_end(now_, cause, choices_.chance(0.8)));
    } else if (const auto* wait = std::get_if<Wait>(&each.step)) {
      now_ = std::max(now_, wait->until);
      take(index, exchange.on_waited(now_));
    } else if (const auto* park = std::get_if<Park>(&each.step)) {
      if (exchange.has_place()) {
        if (choices_.chance(0.2)) now_ = std::max(now_, park->until);  // told late
        take(index, choices_.chance(0.8) ? exchange.on_place(now_) : exchange.on_waited(now_));
      } else if (!choices_.chance(0.7)) {
        now_ = std::max(now_, park->until);
        const Step step = exchange.on_waited(now_);
        require(std::holds_alternative<LocalReply>(step), "a wait for a place has an end");
        take(index, step);
      }
    } else {
      take(index, exchange.on_reply_sent(now_));
    }
  }

  void fail(std::size_t index) {
    Live& each = live_[index];
    const bool reused = std::get<Send>(each.step).connection.reused();
    FailureFacts failure;
    if (reused) {
      failure.request_started = choices_.chance(0.8);
      failure.cause = choices_.chance(0.7) ? Cause::upstream_closed : Cause::send_failed;
    } else {
      constexpr std::array kBefore = {Cause::connect_refused, Cause::connect_timeout,
                                      Cause::local_ports_exhausted};
      constexpr std::array kAfter = {Cause::upstream_closed, Cause::send_failed,
                                     Cause::response_timeout, Cause::malformed_response};
      failure.request_started = choices_.chance(0.6);
      failure.cause = failure.request_started ? kAfter[choices_.below(kAfter.size())]
                                              : kBefore[choices_.below(kBefore.size())];
    }
    failure.response_started = failure.request_started && choices_.chance(0.1);
    if (failure.request_started && choices_.chance(0.1)) each.exchange.on_body_not_replayable();
    each.bytes_written = each.bytes_written || failure.request_started;
    each.must_be_fresh = reused;
    if (!reused) ++each.charged_failures;
    const Step step = each.exchange.on_attempt_failed(now_, failure);
    if (failure.response_started) {
      require(std::holds_alternative<LocalReply>(step),
              "what was answered in part is not sent again");
    }
    if (reused && !failure.response_started) {
      require(!std::holds_alternative<Wait>(step), "stale reuse waits for nothing");
    }
    take(index, step);
  }

  void take(std::size_t index, const Step& step) {
    Live& each = live_[index];
    each.step = step;
    if (const auto* send = std::get_if<Send>(&step)) {
      if (each.bytes_written) {
        require(each.request.facts.idempotent || each.request.facts.has_idempotency_key,
                "sent twice");
      }
      if (each.must_be_fresh) {
        require(!send->connection.reused(),
                "a stale connection is not followed by another kept one");
      }
      each.must_be_fresh = false;
      check_endpoint(each, send->endpoint);
      each.tried.push_back(send->endpoint);
      // The first, the charged retries, and one for stale reuse.
      require(static_cast<int>(each.tried.size()) <=
                  std::min(8, 1 + route_config_.retry.max_retries + 1),
              "attempts are the first, the charged retries and one for stale reuse");
      require(each.exchange.attempt() == static_cast<int>(each.tried.size()),
              "attempts are counted");
    } else if (const auto* wait = std::get_if<Wait>(&step)) {
      require(wait->until >= now_, "no wait ends in the past");
      require(wait->until <= each.started_at + route_config_.timeouts.total,
              "no wait goes beyond the total timeout");
    } else if (const auto* park = std::get_if<Park>(&step)) {
      require(park->until >= now_ && park->until <= now_ + upstream_config_.queue.timeout,
              "who waits for a place waits as long as is allowed");
      require(each.tried.empty(), "nobody waits for a place who has had one");
    } else if (const auto* reply = std::get_if<LocalReply>(&step)) {
      require(reply->status >= 400, "we reply with errors only");
    } else if (std::holds_alternative<Done>(step)) {
      end(index);
    }
  }

  // Parked, and no place is kept for it yet.
  static bool waits(const Live& each) {
    return std::holds_alternative<Park>(each.step) && !each.exchange.has_place();
  }

  // A retry goes to an endpoint that is up and was not tried, if there is one.
  void check_endpoint(const Live& each, std::size_t chosen) {
    std::size_t up = 0;
    bool untried_up = false;
    for (std::size_t i = 0; i < upstream_.endpoint_count(); ++i) {
      if (!upstream_.endpoint_up(i)) continue;
      ++up;
      if (std::find(each.tried.begin(), each.tried.end(), i) == each.tried.end()) untried_up = true;
    }
    const bool was_tried =
        std::find(each.tried.begin(), each.tried.end(), chosen) != each.tried.end();
    if (untried_up) {
      require(!was_tried, "there was another one");
    }
    const std::size_t panic =
        static_cast<std::size_t>(upstream_config_.load_balancer.panic_percent);
    if (!upstream_.endpoint_up(chosen)) {
      require(up * 100 < panic * upstream_.endpoint_count(),
              "an endpoint that is down is chosen in a panic only");
    }
  }

  void end(std::size_t index) {
    Counter counter;
    live_[index].exchange.report(intern("g"), counter);
    require(counter.requests.size() == 1U, "a request is told once");
    const RequestDone& request = counter.requests[0];
    require(request.attempts == counter.attempts.size(), "its attempts are told with it");
    require(request.latency >= 0ns, "no request ends before it began");
    require(request.status != 0, "every request ends with a status");
    for (std::size_t i = 0; i < counter.attempts.size(); ++i) {
      require(counter.attempts[i].attempt == i + 1, "attempts are numbered from 1");
      require(
          static_cast<bool>(counter.attempts[i].why_retried) == (i + 1 < counter.attempts.size()),
          "a reason stands where an attempt follows, and only there");
    }
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    ++ended_;
  }

  void check_queue() {
    int waiting = 0;
    RequestQueue::Ticket first = std::numeric_limits<RequestQueue::Ticket>::max();
    for (const Live& each : live_) {
      if (!waits(each)) continue;
      ++waiting;
      first = std::min(first, std::get<Park>(each.step).ticket);
    }
    require(waiting <= upstream_config_.queue.max, "no more wait than may");
    require(waiting == 0 || upstream_.full(), "nobody waits while there is a place");
    for (const RequestQueue::Grant& grant : upstream_.queue().take_granted()) {
      require(grant.ticket > last_granted_, "first come, first served");
      require(grant.ticket < first, "who came later still waits");
      last_granted_ = grant.ticket;
    }
  }

  void check() {
    check_queue();
    int active = 0;
    std::map<std::size_t, int> busy;
    for (const Live& each : live_) {
      if (std::holds_alternative<LocalReply>(each.step)) continue;
      if (waits(each)) continue;
      ++active;
      if (std::holds_alternative<Wait>(each.step) || std::holds_alternative<Park>(each.step)) {
        continue;
      }
      ++busy[each.tried.back()];
    }
    require(upstream_.active() == active, "those in the upstream are counted");
    if (upstream_config_.max_requests > 0) {
      require(active <= upstream_config_.max_requests, "max_requests holds");
    }
    require(upstream_.retry_budget().in_flight() <= active, "only those in the upstream retry");
    for (std::size_t i = 0; i < upstream_.endpoint_count(); ++i) {
      Pool& pool = pools_.pool(i);
      require(pool.busy_count() == busy[i], "every attempt has one connection");
      const int limit = upstream_config_.pool.max_connections;
      if (limit > 0) {
        require(pool.busy_count() + static_cast<int>(pool.idle_count()) <= limit,
                "max_connections holds");
      }
      static_cast<void>(pool.take_evicted());
    }
  }

  Choices& choices_;
  UpstreamConfig upstream_config_;
  std::uint64_t next_id_ = 1;
  Upstream upstream_;
  UpstreamPools pools_;
  RouteConfig route_config_;
  Route route_;
  TimePoint now_{};
  std::vector<Live> live_;
  RequestQueue::Ticket last_granted_ = 0;
  int started_ = 0;
  int ended_ = 0;
};

}  // namespace

void play_exchanges(Choices& choices, int events) {
  World world(choices);
  world.play(events);
}

}  // namespace gatedrill::gateway
