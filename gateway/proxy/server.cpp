#include "gateway/proxy/server.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio.hpp>
#include <sys/resource.h>

#include "gateway/net/address.hpp"
#include "gateway/net/deadline.hpp"
#include "gateway/net/listener.hpp"
#include "gateway/net/name_watch.hpp"
#include "gateway/proxy/access_log.hpp"
#include "gateway/proxy/health_probe.hpp"
#include "gateway/proxy/worker.hpp"

namespace gatedrill::gateway {

namespace asio = boost::asio;

namespace {

// As many as leave each client's request a descriptor for its upstream, and some for the rest.
std::size_t connections_max(const ClientConfig& config) {
  if (config.connections_max > 0) return static_cast<std::size_t>(config.connections_max);
  constexpr rlim_t kOthers = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur > kOthers + 2 ? (limit.rlim_cur - kOthers) / 2 : 1;
}

}  // namespace

class GatewayServer::State final : public DeadlineOwner {
 public:
  State(const GatewayConfig& config,
        const SteadyClock& clock,
        EventSink& sink,
        asio::io_context& context)
      : context_(context),
        clock_(clock),
        shared_(config),
        places_(connections_max(config.client), [this] { on_place(); }),
        drain_timer_(context, clock, *this) {
    for (std::size_t index = 0; index < shared_.shard_count(); ++index) {
      const Worker::Surroundings surroundings{index == 0 ? &context : nullptr, clock, sink, places_,
                                              [this, index] { on_session_ended(index); }};
      workers_.push_back(std::make_unique<Worker>(shared_, index, surroundings));
    }
    for (std::size_t upstream = 0; upstream < shared_.upstreams().size(); ++upstream) {
      shared_.upstreams()[upstream]->on_granted = [this, upstream](const auto& grant) {
        Worker& its = *workers_[grant.shard];
        its.post(
            [&its, upstream, ticket = grant.ticket] { its.shard().on_granted(upstream, ticket); });
      };
    }
  }

  // The threads end before anything of what they use, each other's workers included.
  ~State() override {
    probes_.clear();
    for (const auto& worker : workers_)
      worker->join();
    while (!workers_.empty())
      workers_.pop_back();
  }

  Result<void> start() {
    if (auto read = shared_.read_addresses(); !read) return read;
    watch_names();
    if (const std::string& path = shared_.config().access_log.path; !path.empty()) {
      auto opened = AccessLog::open(path);
      if (!opened) return opened.error();
      access_log_ = std::move(*opened);
      for (const auto& worker : workers_)
        worker->shard().log_to(access_log_.get());
    }
    for (const std::string& text : shared_.config().listen) {
      if (auto listening = listen(text); !listening) return listening;
    }
    for (const auto& worker : workers_)
      worker->start();
    start_probes();
    return {};
  }

  void look_up_with(NameLookup look_up) { look_up_ = std::move(look_up); }

  void record_traffic(TrafficRecorder& recorder) {
    for (std::size_t index = 0; index < workers_.size(); ++index)
      workers_[index]->shard().reactor().tap_with(&recorder.tap(index));
  }

  [[nodiscard]] const std::vector<std::string>& unknown_names() const { return unknown_names_; }

  void drain(std::function<void()> done) {
    on_drained_ = std::move(done);
    drain_timer_.set(clock_.now() + shared_.config().drain_timeout);
    on_each([](Worker& worker) {
      worker.stop_listening();
      worker.shard().drain();
    });
    check_drained();
  }

  void stop() {
    probes_.clear();
    on_each([](Worker& worker) {
      worker.stop_listening();
      worker.shard().stop();
    });
    check_drained();
  }

  void on_deadline() override { stop(); }

  [[nodiscard]] Counts counts() {
    Counts counts;
    on_each([&](Worker& worker) {
      counts.client_connections += worker.shard().session_count();
      counts.upstream_connections += worker.shard().connections().count();
      const Shard::Ledger& ledger = worker.shard().ledger();
      counts.connections_accepted += ledger.connections;
      counts.requests_begun += ledger.requests_begun;
      counts.requests_answered += ledger.requests_answered;
      counts.requests_client_closed += ledger.requests_client_closed;
    });
    return counts;
  }

  [[nodiscard]] AccessLog* access_log() { return access_log_.get(); }

  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  // One after the other, each on its thread.
  void on_each(const std::function<void(Worker&)>& task) {
    for (const auto& worker : workers_)
      worker->call([&] { task(*worker); });
  }

  void watch_names() {
    NameWatch::Watched watched;
    for (const auto& each : shared_.upstreams())
      watched.push_back(each->addresses);
    names_ = std::make_unique<NameWatch>(std::move(watched), look_up_);
    unknown_names_ = names_->look_up_all();
    names_->start(shared_.config().resolve_interval);
  }

  Result<void> listen(const std::string& text) {
    auto address = resolve(text);
    if (!address) return address.error();
    const bool shared = workers_.size() > 1;
    if (shared) {
      // What is shared between threads would be shared with another process as well.
      Listener alone(workers_.front()->shard().reactor(), places_, nullptr);
      if (auto opened = alone.open(*address); !opened) return opened;
    }
    for (const auto& worker : workers_) {
      auto listening = worker->listen(*address, shared);
      if (!listening) return listening.error();
      address = *listening;
    }
    addresses_.push_back(to_text(*address));
    if (port_ == 0) port_ = address->port();
    return {};
  }

  // Once for all: the first worker asks, and all close what they keep to who went down.
  void start_probes() {
    for (std::size_t upstream = 0; upstream < shared_.upstreams().size(); ++upstream) {
      SharedUpstream& probed = *shared_.upstreams()[upstream];
      if (!probed.upstream.config().health.enabled) continue;
      for (std::size_t endpoint = 0; endpoint < probed.addresses->size(); ++endpoint) {
        const auto on_down = [this, upstream, endpoint] {
          for (const auto& worker : workers_)
            worker->post([&each = *worker, upstream, endpoint] { each.evict(upstream, endpoint); });
        };
        probes_.push_back(
            std::make_unique<HealthProbe>(workers_.front()->shard(), probed, endpoint, on_down));
        probes_.back()->start();
      }
    }
  }

  // On any thread: somebody who waits may come in.
  void on_place() {
    for (const auto& worker : workers_)
      worker->post([&each = *worker] { each.resume_listening(); });
  }

  // On that worker's thread.
  void on_session_ended(std::size_t index) {
    if (!workers_[index]->shard().draining() || places_.taken() > 0) return;
    workers_.front()->post([this] { check_drained(); });
  }

  void check_drained() {
    if (places_.taken() > 0 || !on_drained_) return;
    // Not from inside a session's last step: what is called may destroy this gateway.
    asio::post(context_, std::exchange(on_drained_, nullptr));
  }

  asio::io_context& context_;
  const SteadyClock& clock_;
  std::unique_ptr<AccessLog> access_log_;
  Shared shared_;
  Places places_;
  DeadlineTimer drain_timer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<HealthProbe>> probes_;
  std::vector<std::string> addresses_;
  std::uint16_t port_ = 0;
  std::function<void()> on_drained_;
  NameLookup look_up_ = system_lookup;
  std::unique_ptr<NameWatch> names_;
  std::vector<std::string> unknown_names_;
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

void GatewayServer::look_up_with(NameLookup look_up) {
  state_->look_up_with(std::move(look_up));
}

void GatewayServer::record_traffic(TrafficRecorder& recorder) {
  state_->record_traffic(recorder);
}

const std::vector<std::string>& GatewayServer::unknown_names() const {
  return state_->unknown_names();
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
  return state_->counts();
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
