#include "scenarios/live/live_play.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <thread>
#include <vector>

#include <boost/asio.hpp>
#include <sys/resource.h>

#include "scenarios/live/live_world.hpp"

namespace gatedrill::scenarios {
namespace {

namespace asio = boost::asio;

// Many requests wait at once when backends are slow, and each has six sockets on its way.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Passes everything on and counts what a person wants to see meanwhile.
class ProgressSink final : public EventSink {
 public:
  explicit ProgressSink(EventSink& next) : next_(next) {}

  void publish(const Event& event) noexcept override {
    if (const auto* send = std::get_if<SendDone>(&event.body)) {
      ++ended_;
      if (send->status == 0) ++unanswered_;
      if (send->status == 502) ++bad_gateway_;
      if (send->status == 504) ++gateway_timeout_;
    }
    next_.publish(event);
  }

  void print(Duration elapsed, Duration whole) const {
    std::cerr << elapsed / std::chrono::seconds{1} << " of " << whole / std::chrono::seconds{1}
              << " s: " << ended_ << " requests ended, " << bad_gateway_ << " 502, "
              << gateway_timeout_ << " 504, " << unanswered_ << " unanswered\n";
  }

 private:
  EventSink& next_;
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> unanswered_{0};
  std::atomic<std::uint64_t> bad_gateway_{0};
  std::atomic<std::uint64_t> gateway_timeout_{0};
};

// SIGINT and SIGTERM end the play early; a second one kills the process as usual. A line of
// progress every few seconds.
class Watch {
 public:
  Watch(const SteadyClock& clock, const ProgressSink& progress, Duration whole)
      : clock_(clock), progress_(progress), whole_(whole) {}

  void start(std::function<void()> interrupt) {
    signals_.async_wait([this, interrupt = std::move(interrupt)](
                            const boost::system::error_code& error, int /*signal*/) {
      if (error) return;
      interrupted_ = true;
      signals_.clear();
      std::cerr << "interrupted: ending the play; once more to end at once\n";
      interrupt();
    });
    tick();
    thread_ = std::thread([this] { context_.run(); });
  }

  void stop() {
    context_.stop();
    thread_.join();
  }

  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  void tick() {
    timer_.expires_after(std::chrono::seconds{5});
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      progress_.print(clock_.now().time_since_epoch(), whole_);
      tick();
    });
  }

  const SteadyClock& clock_;
  const ProgressSink& progress_;
  Duration whole_;
  asio::io_context context_{1};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
  asio::steady_timer timer_{context_};
  std::atomic<bool> interrupted_{false};
  std::thread thread_;
};

void record_figures(const std::string& variant,
                    const LiveWorld& world,
                    reports::EventStore& store) {
  const replay::ReplayFigures& figures = world.figures();
  const std::string prefix = "client." + variant + ".";
  store.set_run(prefix + "due", figures.due);
  store.set_run(prefix + "answered", figures.answered);
  store.set_run(prefix + "connections", figures.connections);
  store.set_run(prefix + "side_connections", figures.side_connections);
  store.set_run(prefix + "late_p99_ms", to_ms(figures.begun_late.at_quantile(0.99)));
  store.set_run(prefix + "late_max_ms", to_ms(figures.begun_late.max()));
  if (const std::string reason = world.invalid_reason(); !reason.empty()) {
    store.invalidate(variant + ": " + reason);
  }
}

}  // namespace

Result<void> play_live(const LivePlay& play) {
  raise_file_limit();
  std::signal(SIGPIPE, SIG_IGN);
  const Scenario& scenario = *play.scenario;
  SteadyClock clock;
  ProgressSink progress(*play.sink);
  std::vector<std::unique_ptr<LiveWorld>> worlds;
  for (const Variant& variant : scenario.variants) {
    LiveOrder order;
    order.variant = &variant;
    order.traffic = play.traffic;
    order.answers = play.answers;
    order.clock = &clock;
    order.sink = &progress;
    order.seed = scenario.seed;
    order.duration = scenario.duration;
    order.directory = std::filesystem::absolute(play.directory).string() + "/" + variant.name;
    std::error_code error;
    if (variant.world.external) std::filesystem::create_directories(order.directory, error);
    if (error) return outside_error("cannot make " + order.directory + ": " + error.message());
    auto world = LiveWorld::make(order);
    if (!world) {
      return Error{world.error().code, "variant " + variant.name + ": " + world.error().message};
    }
    worlds.push_back(std::move(*world));
  }
  Watch watch(clock, progress, scenario.duration);
  clock.restart();
  play.store->set_run("started_at_unix_ms", clock.unix_time(TimePoint{}).ns / 1'000'000);
  watch.start([&worlds] {
    for (const auto& world : worlds)
      world->stop();
  });
  std::vector<std::thread> threads;
  for (const auto& world : worlds) {
    LiveWorld* player = world.get();
    threads.emplace_back([player] { player->run(); });
  }
  for (std::thread& thread : threads)
    thread.join();
  watch.stop();
  if (watch.interrupted()) {
    play.store->invalidate(
        "interrupted after " +
        std::to_string(clock.now().time_since_epoch() / std::chrono::seconds{1}) + " s");
  }
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    record_figures(scenario.variants[i].name, *worlds[i], *play.store);
  }
  return {};
}

}  // namespace gatedrill::scenarios
