#include "gateway/proxy/server.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio.hpp>
#include <sys/resource.h>

#include "gateway/net/address.hpp"
#include "gateway/net/deadline.hpp"
#include "gateway/net/listener.hpp"
#include "gateway/proxy/access_log.hpp"
#include "gateway/proxy/health_probe.hpp"
#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {

namespace asio = boost::asio;

namespace {

// Kept connections are closed at most this late; they are never used after their time.
constexpr Duration kSweepMax = std::chrono::seconds{1};
constexpr Duration kSweepMin = std::chrono::milliseconds{20};

// As many as leave each client's request a descriptor for its upstream, and some for the rest.
std::size_t connections_max(const ClientConfig& config) {
  if (config.connections_max > 0) return static_cast<std::size_t>(config.connections_max);
  constexpr rlim_t kOthers = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur > kOthers + 2 ? (limit.rlim_cur - kOthers) / 2 : 1;
}

// Closes what pools give up as time passes.
class Sweeper final : public DeadlineOwner {
 public:
  explicit Sweeper(Shard& shard) : shard_(shard), timer_(shard.context(), shard.clock(), *this) {}

  void start() { on_deadline(); }

  void on_deadline() override {
    const TimePoint now = shard_.clock().now();
    TimePoint next = now + kSweepMax;
    for (const auto& each : shard_.upstreams()) {
      for (std::size_t i = 0; i < each->upstream.endpoint_count(); ++i) {
        Pool& pool = each->pools.pool(i);
        pool.expire(now);
        shard_.connections().close_evicted(pool);
        next = std::min(next, pool.next_wakeup());
      }
      shard_.publish_transitions(each->upstream);
    }
    timer_.set(std::max(next, now + kSweepMin));
  }

 private:
  Shard& shard_;
  DeadlineTimer timer_;
};

}  // namespace

class GatewayServer::State final : public DeadlineOwner {
 public:
  State(const GatewayConfig& config,
        const SteadyClock& clock,
        EventSink& sink,
        asio::io_context& context)
      : clients_(config.client.connections_per_ip_max),
        shard_(config, context, clock, sink, clients_),
        connections_max_(connections_max(config.client)),
        sweeper_(shard_),
        drain_timer_(context, clock, *this) {
    shard_.on_session_ended = [this] { on_session_ended(); };
  }

  ~State() override {
    shard_.on_session_ended = nullptr;
    for (const auto& listener : listeners_)
      listener->close();
  }

  Result<void> start() {
    if (auto resolved = shard_.resolve_addresses(); !resolved) return resolved;
    if (const std::string& path = shard_.config().access_log.path; !path.empty()) {
      auto opened = AccessLog::open(path);
      if (!opened) return opened.error();
      access_log_ = std::move(*opened);
      shard_.log_to(access_log_.get());
    }
    for (const std::string& text : shard_.config().listen) {
      const auto address = resolve(text);
      if (!address) return address.error();
      auto listener = std::make_unique<Listener>(shard_.reactor(),
                                                 [this](int descriptor, const TcpEndpoint& peer) {
                                                   shard_.accept(descriptor, peer);
                                                   if (full()) pause();
                                                 });
      if (auto opened = listener->open(*address); !opened) return opened;
      addresses_.push_back(to_text(listener->local()));
      port_ = port_ == 0 ? listener->local().port() : port_;
      listeners_.push_back(std::move(listener));
    }
    for (const auto& listener : listeners_)
      listener->start();
    sweeper_.start();
    start_probes();
    return {};
  }

  void drain(std::function<void()> done) {
    on_drained_ = std::move(done);
    for (const auto& listener : listeners_)
      listener->close();
    drain_timer_.set(shard_.clock().now() + shard_.config().drain_timeout);
    shard_.drain();
    on_session_ended();
  }

  void stop() {
    probes_.clear();
    for (const auto& listener : listeners_)
      listener->close();
    shard_.stop();
    on_session_ended();
  }

  void on_deadline() override { stop(); }

  [[nodiscard]] Shard& shard() { return shard_; }

  [[nodiscard]] AccessLog* access_log() { return access_log_.get(); }

  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  [[nodiscard]] bool full() const { return shard_.session_count() >= connections_max_; }

  void start_probes() {
    for (const auto& each : shard_.upstreams()) {
      if (!each->upstream.config().health.enabled) continue;
      for (std::size_t i = 0; i < each->upstream.endpoint_count(); ++i) {
        probes_.push_back(std::make_unique<HealthProbe>(shard_, *each, i));
        probes_.back()->start();
      }
    }
  }

  void pause() {
    for (const auto& listener : listeners_)
      listener->pause();
  }

  void on_session_ended() {
    if (shard_.draining()) {
      if (shard_.session_count() > 0 || !on_drained_) return;
      // Not from inside a session's last step: what is called may destroy this gateway.
      asio::post(shard_.context(), std::exchange(on_drained_, nullptr));
    } else if (!full()) {
      for (const auto& listener : listeners_)
        listener->start();
    }
  }

  std::unique_ptr<AccessLog> access_log_;
  ClientConnections clients_;
  Shard shard_;
  std::size_t connections_max_;
  Sweeper sweeper_;
  DeadlineTimer drain_timer_;
  std::vector<std::unique_ptr<HealthProbe>> probes_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::string> addresses_;
  std::uint16_t port_ = 0;
  std::function<void()> on_drained_;
};

GatewayServer::GatewayServer(const GatewayConfig& config,
                             const SteadyClock& clock,
                             EventSink& sink,
                             asio::io_context& context)
    : state_(std::make_unique<State>(config, clock, sink, context)) {}

GatewayServer::~GatewayServer() = default;

Result<void> GatewayServer::start() {
  return state_->start();
}

const std::vector<std::string>& GatewayServer::addresses() const {
  return state_->addresses();
}

std::uint16_t GatewayServer::port() const {
  return state_->port();
}

void GatewayServer::drain(std::function<void()> done) {
  state_->drain(std::move(done));
}

void GatewayServer::stop() {
  state_->stop();
}

void GatewayServer::reopen_log() {
  if (state_->access_log() != nullptr) state_->access_log()->reopen();
}

std::string GatewayServer::log_trouble() const {
  if (state_->access_log() == nullptr) return {};
  const AccessLog::Loss lost = state_->access_log()->lost();
  if (lost.reason.empty()) return {};
  return "the access log lost " + std::to_string(lost.lines) + " lines: " + lost.reason;
}

GatewayServer::Counts GatewayServer::counts() const {
  return {state_->shard().session_count(), state_->shard().connections().count()};
}

Result<std::string> which_route(const GatewayConfig& config, const std::string& request) {
  const std::size_t space = request.find(' ');
  const std::string target = space == std::string::npos ? request : request.substr(space + 1);
  std::string host;
  if (const std::size_t scheme = target.find("://"); scheme != std::string::npos) {
    host = target.substr(scheme + 3, target.find_first_of("/?", scheme + 3) - scheme - 3);
  } else if (!target.starts_with('/')) {
    return usage_error("expected a request such as 'GET /path' or 'GET http://host/path', got '" +
                       request + "'");
  }
  const std::string path(http::path_of(target));
  const auto index = Router(config.routes).match(host, path);
  if (!index) return "no route: " + path + " matches none and is answered with 404 no_route";
  const RouteConfig& route = config.routes[*index];
  std::string text = "route " + route_name(route) + " to upstream " + route.upstream;
  if (!route.match.host.empty()) text += ", for host " + route.match.host;
  text += ", for paths that begin with " + route.match.path_prefix;
  if (!route.strip_prefix.empty()) text += "; " + route.strip_prefix + " is taken off the path";
  return text;
}

}  // namespace gatedrill::gateway
