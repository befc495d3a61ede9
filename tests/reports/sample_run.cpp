#include "tests/reports/sample_run.hpp"

#include <array>
#include <cassert>
#include <cmath>

#include "gateway/core/random.hpp"
#include "reports/event_store.hpp"
#include "reports/expectation/expectation.hpp"

namespace gatedrill::reports {
namespace {

constexpr int kSeconds = 50;
constexpr int kRequestsPerSecond = 30;
constexpr double kSlowFromMs = 10'000;
constexpr double kSlowUntilMs = 40'000;

TimePoint at_ms(double ms) {
  return TimePoint{from_ms(ms)};
}

struct Variant {
  std::string_view name;
  double timeout_ms;
  bool slow;   // its dependency is not cached
  bool stale;  // its pool outlives the origins' connections
  bool ours;
};

class SampleRun {
 public:
  SampleRun(EventStore& store, const Variant& variant)
      : store_(store), variant_(variant), random_(Random(7).fork(variant.name)) {}

  void play() {
    faults();
    for (int i = 0; i < kSeconds * kRequestsPerSecond; ++i) {
      request(i, i * 1000.0 / kRequestsPerSecond + random_.uniform() * 10);
    }
    if (variant_.slow && variant_.ours) transitions();
  }

 private:
  void publish(const EventBody& body) { store_.publish(Event{intern(variant_.name), body}); }

  void faults() {
    publish(FaultWindow{at_ms(kSlowFromMs), at_ms(kSlowUntilMs), intern("slow-lookup"),
                        intern("latency"), intern("config-service")});
    for (int i = 0; i < 6; ++i) {
      const double from = 10'000 + i * 1'600;
      publish(FaultWindow{at_ms(from), at_ms(from + 600), intern("cut-on-stop"),
                          intern("reset_kept_alive"), intern("shop-" + std::to_string(i + 1))});
    }
  }

  static bool restarting(double at) {
    const double within = std::fmod(at - 10'000, 1'600);
    return at >= 10'000 && at < 19'600 && within < 600;
  }

  void request(int number, double at) {
    const RequestId id(std::string(variant_.name) + "-" + std::to_string(number));
    const bool post = number % 10 == 3;
    const std::string_view path = post ? "/order" : number % 3 == 0 ? "/api/cart" : "/item/17";
    double latency = 18 * std::exp(0.5 * random_.normal());
    const bool slow_now = variant_.slow && at >= kSlowFromMs && at < kSlowUntilMs;
    if (slow_now) latency += 900 * std::exp(0.75 * random_.normal());
    const bool stale = variant_.stale && restarting(at) && random_.chance(0.22);
    int status = 200;
    Cause cause = Cause::ok;
    if (stale) {
      status = 502;
      cause = Cause::stale_reuse;
      latency = 4;
    } else if (latency > variant_.timeout_ms) {
      status = 504;
      cause = Cause::response_timeout;
      latency = variant_.timeout_ms;
    }
    const bool retried = !variant_.stale && restarting(at) && !post && random_.chance(0.1);
    if (stale || retried) hit(at, id);
    record(id, at, post, path, latency, status, cause, retried ? 2 : 1);
  }

  void hit(double at, const RequestId& id) {
    FaultHit event;
    event.at = at_ms(at + 2);
    event.fault = intern("cut-on-stop");
    event.request_id = id;
    event.planned = FixedText<60>("reset before request 2 of the connection");
    event.observed =
        FixedText<60>(random_.chance(0.9) ? "reset sent" : "connection was closed already");
    publish(event);
  }

  void record(const RequestId& id,
              double at,
              bool post,
              std::string_view path,
              double latency,
              int status,
              Cause cause,
              int attempts) {
    const NameId method = intern(post ? "POST" : "GET");
    if (variant_.ours) {
      RequestDone done;
      done.request_id = id;
      done.at = at_ms(at);
      done.latency = from_ms(latency);
      done.method = method;
      done.path = intern(path);
      done.route = intern(path.substr(0, 4) == "/api" ? "api" : "shop");
      done.status = static_cast<std::uint16_t>(status);
      done.cause = cause;
      done.attempts = static_cast<std::uint8_t>(attempts);
      publish(done);
    }
    SendDone send;
    send.request_id = id;
    send.source = intern("recording");
    send.method = method;
    send.path = intern(path);
    send.intended = at_ms(at);
    send.sent = at_ms(at + 0.2);
    send.done = at_ms(at + latency + 1);
    send.status = static_cast<std::uint16_t>(status);
    send.body_complete = true;
    send.status_expected = 200;
    send.body_as_expected = status == 200;
    publish(send);
    Execution execution;
    execution.request_id = id;
    execution.business_key = FixedText<40>(id.view());
    execution.method = method;
    execution.path = intern(path);
    execution.at = at_ms(at + 3);
    if (status != 502) publish(execution);
  }

  void transitions() {
    const auto change = [this](double at, Transition::Kind kind, std::string_view subject,
                               std::string_view from, std::string_view to, std::string_view why) {
      publish(Transition{at_ms(at), kind, intern(subject), intern(from), intern(to), intern(why)});
    };
    change(14'200, Transition::Kind::breaker, "shop", "closed", "open", "50 % of 40 failed");
    change(19'200, Transition::Kind::breaker, "shop", "open", "half_open", "waited 5 s");
    change(19'900, Transition::Kind::breaker, "shop", "half_open", "closed", "5 probes succeeded");
    change(16'000, Transition::Kind::health, "127.0.0.1:9004", "healthy", "unhealthy", "timeout");
    change(24'000, Transition::Kind::health, "127.0.0.1:9004", "unhealthy", "healthy", "2 passed");
    publish(ProbeDone{at_ms(16'000), intern("active"), intern("127.0.0.1:9004"), intern("timeout"),
                      from_ms(1000)});
  }

  EventStore& store_;
  const Variant& variant_;
  Random random_;
};

}  // namespace

void make_sample_run(const std::string& path) {
  const auto store = EventStore::create(path).value();
  store->set_run("name", "inc-1-rolling-upgrade");
  store->set_run("seed", 7);
  store->set_run("version", "0.1.0");
  store->set_run("simulated", 1);
  store->set_run("variants", "as_was,timeout_only,as_fixed,nginx_as_was");
  store->set_run("scenario", "scenarios/drills/inc-1-rolling-upgrade.yaml");
  store->set_run("title", "A rolling upgrade behind the gateway: 504 and 502");
  store->set_run("live.timeline.outage", "10m -> 30s");
  store->set_run("live.timeline.restart.every", "15s -> 1.6s");
  store->add_phase("outage", at_ms(kSlowFromMs), at_ms(kSlowUntilMs));
  for (int i = 0; i < 6; ++i) {
    store->add_phase("restart-" + std::to_string(i + 1), at_ms(10'000 + i * 1'600),
                     at_ms(10'600 + i * 1'600));
  }
  for (const Variant& variant :
       {Variant{"as_was", 1000, true, true, true}, Variant{"timeout_only", 5000, true, true, true},
        Variant{"as_fixed", 5000, false, false, true},
        Variant{"nginx_as_was", 1000, true, true, false}}) {
    SampleRun(*store, variant).play();
  }
  const Result<void> finished = store->finish();
  assert(finished);
  const std::vector<std::string> sick{"as_was", "nginx_as_was"};
  const std::array expectations{
      Expectation{"504 is the large majority", "share(status = 504, of = 5xx) >= 80%", sick},
      Expectation{"502 comes from the restarts",
                  "count(cause = stale_reuse) == 0 outside restart*",
                  {"as_was", "timeout_only"}},
      Expectation{"", "answered_as_recorded == 100%", {"as_fixed", "timeout_only"}},
      Expectation{"", "missing == 0", {}},
      Expectation{"no order is placed twice", "duplicates(POST) == 0", {}},
      Expectation{"", "p99(latency) < 200ms", {"as_fixed"}},
      Expectation{"", "recovery(after = outage) < 5s", {"as_was", "timeout_only", "as_fixed"}},
      Expectation{"", "count(cause = stale_reuse) > 0", sick}};
  const Result<Judgement> judgement = judge(path, expectations);
  assert(judgement);
}

}  // namespace gatedrill::reports
