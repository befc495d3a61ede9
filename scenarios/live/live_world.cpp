#include "scenarios/live/live_world.hpp"

#include <cassert>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio.hpp>

#include "chaos/proxy/live_link.hpp"
#include "gateway/proxy/server.hpp"
#include "scenarios/live/external_gateway.hpp"
#include "scenarios/live/resource_sampler.hpp"
#include "scenarios/origin/live_origin.hpp"

namespace gatedrill::scenarios {
namespace {

namespace asio = boost::asio;

constexpr Duration kSampleInterval = std::chrono::seconds{1};
// After the last send has ended: what the backends still do is recorded.
constexpr Duration kAfterglow = std::chrono::milliseconds{500};

struct Instance {
  std::unique_ptr<LiveOrigin> origin;
  std::unique_ptr<chaos::LiveLink> link;
};

}  // namespace

struct LiveWorld::State {
  explicit State(const LiveOrder& the_order)
      : order(the_order), name(intern(the_order.variant->name)) {}

  [[nodiscard]] const World& world() const { return order.variant->world; }

  Result<void> make_origins_and_links();
  Result<void> make_instance(const std::string& origin, OriginConfig config, OriginWorld& shared);
  Result<void> make_gateway();
  Result<void> make_ours();
  void begin();
  void at(TimePoint time, std::function<void()> action);
  void operate(const Operation& operation);
  void sample();
  void finish();

  LiveOrder order;
  NameId name;
  asio::io_context context{1};
  chaos::FaultPlan plan;
  std::unique_ptr<chaos::FaultRun> faults;
  Dependencies dependencies;
  std::map<std::string, std::unique_ptr<OriginWorld>> origin_worlds;
  std::map<std::string, std::vector<Instance>> instances;
  EndpointAddresses addresses;  // by origin: where its links listen
  std::unique_ptr<gateway::GatewayServer> ours;
  std::optional<ExternalGateway> external;
  std::unique_ptr<replay::ReplayDriver> clients;
  std::vector<std::unique_ptr<asio::steady_timer>> timers;
  std::string external_died;
  bool finished = false;
};

Result<void> LiveWorld::State::make_origins_and_links() {
  auto made = fault_plan_of(world(), order.seed);
  if (!made) return made.error();
  plan = std::move(*made);
  faults = std::make_unique<chaos::FaultRun>(plan);
  dependencies = make_dependencies(world(), order.seed);
  for (const auto& [origin, spec] : world().origins) {
    auto shared = std::make_unique<OriginWorld>(
        OriginWorld{*order.answers->at(origin), AnswerBook::Turns{}, chaos::Sightings{}});
    for (OriginConfig& config : make_origins(origin, spec, dependencies, order.seed)) {
      auto instance = make_instance(origin, std::move(config), *shared);
      if (!instance) return instance.error();
    }
    origin_worlds[origin] = std::move(shared);
  }
  return {};
}

Result<void> LiveWorld::State::make_instance(const std::string& origin,
                                             OriginConfig config,
                                             OriginWorld& shared) {
  chaos::LiveLink::Settings link;
  link.link.name = {upstream_of(world(), origin), config.name};
  link.link.to_origin = world().link.delay;
  link.link.to_gateway = world().link.delay;
  link.gateway = name;
  LiveOrigin::Settings settings;
  settings.origin = std::move(config);
  settings.gateway = name;
  Instance instance;
  instance.origin =
      std::make_unique<LiveOrigin>(context, *order.clock, std::move(settings), shared, *order.sink);
  instance.link = std::make_unique<chaos::LiveLink>(context, *order.clock, std::move(link), *faults,
                                                    *order.sink);
  if (const auto started = instance.origin->start(); !started) return started.error();
  instance.link->set_target_port(instance.origin->port());
  if (const auto started = instance.link->start(); !started) return started.error();
  chaos::LiveLink* follower = instance.link.get();
  instance.origin->on_listening(
      [follower](bool listening) { follower->set_origin_listening(listening); });
  addresses[origin].push_back("127.0.0.1:" + std::to_string(instance.link->port()));
  instances[origin].push_back(std::move(instance));
  return {};
}

Result<void> LiveWorld::State::make_ours() {
  gateway::GatewayConfig config = world().gateway;
  config.name = order.variant->name;
  config.listen = {"127.0.0.1:0"};
  for (gateway::UpstreamConfig& upstream : config.upstreams) {
    const auto origin = world().upstream_origins.find(upstream.name);
    if (origin != world().upstream_origins.end()) upstream.endpoints = addresses[origin->second];
  }
  ours = std::make_unique<gateway::GatewayServer>(config, *order.clock, *order.sink, context);
  return ours->start();
}

Result<void> LiveWorld::State::make_gateway() {
  replay::ReplayDriverConfig config;
  config.gateway = name;
  config.target.host = "127.0.0.1";
  if (world().external) {
    auto started = ExternalGateway::start(*world().external, order.directory, addresses);
    if (!started) return started.error();
    external = std::move(*started);
    config.target.port = external->port();
  } else {
    if (const auto started = make_ours(); !started) return started.error();
    config.target.port = ours->port();
  }
  clients = std::make_unique<replay::ReplayDriver>(context, *order.clock, *order.sink, config);
  return {};
}

void LiveWorld::State::at(TimePoint time, std::function<void()> action) {
  auto& timer = *timers.emplace_back(std::make_unique<asio::steady_timer>(context));
  timer.expires_at(order.clock->steady(time));
  timer.async_wait([act = std::move(action)](const boost::system::error_code& error) {
    if (!error) act();
  });
}

void LiveWorld::State::begin() {
  for (const FaultWindow& window : windows_of(world(), order.duration)) {
    at(window.at, [this, window] { order.sink->publish({name, window}); });
  }
  for (const Operation& operation : operations_of(world())) {
    at(operation.at, [this, operation] { operate(operation); });
  }
  for (Duration time{0}; time <= order.duration; time += kSampleInterval) {
    at(TimePoint{time}, [this] { sample(); });
  }
  clients->start(replay::ReplaySource(order.traffic->plan), TimePoint{}, [this] { finish(); });
}

void LiveWorld::State::operate(const Operation& operation) {
  if (const auto* restart = std::get_if<RestartInstance>(&operation.what)) {
    instances.at(restart->origin)[restart->instance].origin->stop(restart->order);
  } else if (const auto* change = std::get_if<SwitchDependency>(&operation.what)) {
    const auto switched = dependencies.at(change->dependency)->switch_to(change->state);
    assert(switched);  // the reader knows the states
  }
}

void LiveWorld::State::sample() {
  ResourceSample sample;
  if (external) {
    const auto group = sample_group(external->pid());
    if (!group || !external->alive()) {
      external_died = "the external gateway ended during the run";
      return;
    }
    sample = *group;
  } else {
    sample = sample_self();
    sample.cpu = thread_cpu();
    const auto counts = ours->counts();
    sample.client_connections = static_cast<std::uint32_t>(counts.client_connections);
    sample.upstream_connections = static_cast<std::uint32_t>(counts.upstream_connections);
  }
  sample.at = order.clock->now();
  order.sink->publish({name, sample});
}

// All sends have ended. The backends finish what they have begun, then everything is taken down.
void LiveWorld::State::finish() {
  at(order.clock->now() + kAfterglow, [this] {
    if (std::exchange(finished, true)) return;
    for (auto& [origin, all] : instances) {
      for (Instance& instance : all) {
        instance.link->stop();
        instance.origin->shut_down();
      }
    }
    if (ours) ours->stop();
    context.stop();
  });
}

Result<std::unique_ptr<LiveWorld>> LiveWorld::make(const LiveOrder& order) {
  auto state = std::make_unique<State>(order);
  if (const auto made = state->make_origins_and_links(); !made) return made.error();
  if (const auto made = state->make_gateway(); !made) return made.error();
  return std::unique_ptr<LiveWorld>(new LiveWorld(std::move(state)));
}

LiveWorld::LiveWorld(std::unique_ptr<State> state) : state_(std::move(state)) {}

LiveWorld::~LiveWorld() = default;

void LiveWorld::run() {
  state_->begin();
  state_->context.run();
}

void LiveWorld::stop() {
  asio::post(state_->context, [this] { state_->clients->stop(); });
}

const replay::ReplayFigures& LiveWorld::figures() const {
  return state_->clients->figures();
}

std::string LiveWorld::invalid_reason() const {
  if (!state_->external_died.empty()) return state_->external_died;
  return state_->clients->invalid_reason();
}

}  // namespace gatedrill::scenarios
