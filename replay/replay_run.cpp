#include "replay/replay_run.hpp"

#include <algorithm>
#include <csignal>
#include <optional>

#include <boost/asio.hpp>
#include <sys/resource.h>

namespace gatedrill::replay {

namespace asio = boost::asio;
using gateway::ClientConnect;
using gateway::ClientError;
using gateway::HttpClient;
using gateway::HttpPeer;

namespace {

constexpr std::size_t kDifferingMax = 20;
constexpr Duration kConnectTimeout = std::chrono::seconds{5};
// After an interrupt, what is under way gets so long.
constexpr Duration kGrace = std::chrono::seconds{5};

bool differs(const SendDone& send) {
  if (send.error) return true;
  return send.status_expected != 0 &&
         (send.status != send.status_expected || !send.body_as_expected);
}

// Passes everything on and keeps the first sends that differ from the recording.
class DifferenceSink final : public EventSink {
 public:
  explicit DifferenceSink(std::unique_ptr<EventSink> next) : next_(std::move(next)) {}

  void publish(const Event& event) noexcept override {
    const auto* send = std::get_if<SendDone>(&event.body);
    if (send != nullptr && differing_.size() < kDifferingMax && differs(*send)) {
      differing_.push_back(*send);
    }
    next_->publish(event);
  }

  [[nodiscard]] const std::vector<SendDone>& differing() const { return differing_; }

 private:
  std::unique_ptr<EventSink> next_;
  std::vector<SendDone> differing_;
};

// Every recorded connection is a descriptor.
void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Run {
 public:
  Run(const ReplayRunOptions& options, const ReplayProgress& progress)
      : options_(options), progress_(progress), signals_(context_) {}

  Result<ReplayOutcome> play(std::shared_ptr<const ReplayPlan> plan, const OpenSink& open_sink);

 private:
  Result<std::unique_ptr<HttpClient>> reach_target();
  void show_progress();
  void stop_on_signal();
  void end();
  ReplayOutcome outcome();

  const ReplayRunOptions& options_;
  const ReplayProgress& progress_;
  std::optional<DifferenceSink> differences_;
  asio::io_context context_;
  SteadyClock clock_;
  asio::signal_set signals_;
  asio::steady_timer progress_timer_{context_};
  asio::steady_timer grace_timer_{context_};
  std::optional<ReplayDriver> driver_;
  TimePoint begin_;
  TimePoint next_progress_;
  bool interrupted_ = false;
};

// Looks the name up once, and says at once when nobody is there. The connection is for the first
// send: one that nothing is sent on would puzzle whoever watches the target.
Result<std::unique_ptr<HttpClient>> Run::reach_target() {
  auto client = std::make_unique<HttpClient>(context_, clock_);
  std::optional<ClientConnect> outcome;
  auto connecting = client->connect(options_.target, clock_.now() + kConnectTimeout);
  asio::co_spawn(
      context_, std::move(connecting),
      [&outcome](const std::exception_ptr&, ClientConnect result) { outcome = std::move(result); });
  while (!outcome)
    context_.run_one();
  context_.restart();
  if (outcome->error == ClientError::none) return client;
  return outside_error("cannot connect to " + options_.target.host + ":" +
                       std::to_string(options_.target.port) + ": " + outcome->detail +
                       "; is the target running?");
}

void Run::show_progress() {
  next_progress_ += options_.progress_every;
  progress_timer_.expires_at(clock_.steady(next_progress_));
  progress_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    progress_(clock_.now() - begin_, driver_->figures());
    show_progress();
  });
}

void Run::stop_on_signal() {
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
  signals_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    interrupted_ = true;
    signals_.clear();  // the next one kills
    driver_->stop();
    grace_timer_.expires_at(clock_.steady(clock_.now() + kGrace));
    grace_timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) driver_->abandon();
    });
  });
}

void Run::end() {
  signals_.cancel();
  progress_timer_.cancel();
  grace_timer_.cancel();
}

ReplayOutcome Run::outcome() {
  ReplayOutcome outcome;
  outcome.took = clock_.now() - begin_;
  outcome.figures = driver_->figures();
  outcome.interrupted = interrupted_;
  outcome.differing = differences_->differing();
  outcome.invalid = driver_->invalid_reason();
  Dropped missing{intern("the replay client"), intern("begun too late"),
                  outcome.figures.begun_too_late + outcome.figures.local_failures};
  if (outcome.invalid.empty() && outcome.figures.unsent > 0) {
    outcome.invalid =
        "interrupted, " + std::to_string(outcome.figures.unsent) + " requests were not sent";
    missing.reason = intern("interrupted");
    missing.count = outcome.figures.unsent;
  }
  if (!outcome.invalid.empty()) differences_->publish(Event{intern(options_.name), missing});
  return outcome;
}

Result<ReplayOutcome> Run::play(std::shared_ptr<const ReplayPlan> plan, const OpenSink& open_sink) {
  allow_many_descriptors();
  Result<std::unique_ptr<HttpClient>> target = reach_target();
  if (!target) return target.error();
  Result<std::unique_ptr<EventSink>> sink = open_sink();
  if (!sink) return sink.error();
  differences_.emplace(std::move(*sink));

  ReplayDriverConfig config;
  config.target = (*target)->peer();
  config.gateway = intern(options_.name);
  config.timeout = options_.timeout;
  config.late_bound = options_.late_bound;
  driver_.emplace(context_, clock_, *differences_, config);
  begin_ = clock_.now();
  next_progress_ = begin_;
  driver_->start(
      ReplaySource(std::move(plan)), begin_, [this] { end(); }, std::move(*target));
  stop_on_signal();
  show_progress();
  context_.run();
  return outcome();
}

}  // namespace

Result<ReplayOutcome> run_replay(std::shared_ptr<const ReplayPlan> plan,
                                 const ReplayRunOptions& options,
                                 const OpenSink& open_sink,
                                 const ReplayProgress& progress) {
  return Run(options, progress).play(std::move(plan), open_sink);
}

}  // namespace gatedrill::replay
