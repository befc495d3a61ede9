// Endpoints given by name: what a name stands for changes while the gateway runs.
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::StartsWith;

// What the name stands for, changed by a test. A lookup may outlast the gateway that began it.
class Names {
 public:
  void set(const std::string& address) {
    const std::lock_guard lock(state_->mutex);
    state_->address = address;
  }

  [[nodiscard]] std::function<std::vector<std::string>(const std::string&)> lookup() const {
    return [state = state_](const std::string& name) {
      EXPECT_EQ(name, "shop.internal");
      const std::lock_guard lock(state->mutex);
      ++state->lookups;
      return state->address.empty() ? std::vector<std::string>{} : std::vector{state->address};
    };
  }

  [[nodiscard]] int lookups() const {
    const std::lock_guard lock(state_->mutex);
    return state_->lookups;
  }

 private:
  struct State {
    std::mutex mutex;
    std::string address;
    int lookups = 0;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

gateway::GatewayConfig named(std::uint16_t port) {
  gateway::GatewayConfig config = shop_config({});
  config.upstreams[0].endpoints = {"shop.internal:" + std::to_string(port)};
  config.upstreams[0].breaker.enabled = false;
  config.routes[0].retry.max_retries = 0;
  config.resolve_interval = milliseconds{20};
  return config;
}

std::string status_of(const RunningGateway& gateway) {
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/", kCloseField));
  return client.read_to_end().substr(9, 3);
}

TEST(NamedEndpoint, ThatIsUnknownFailsRequestsUntilItIsKnown) {
  ScriptedPeer origin(always_answer("here"));
  Names names;
  RunningGateway gateway(named(origin.port()), names.lookup());
  gateway.on_its_thread([](gateway::GatewayServer& server) {
    EXPECT_THAT(server.unknown_names(), ::testing::ElementsAre("shop.internal"));
  });
  EXPECT_EQ(status_of(gateway), "502");
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::dns_failure);
  names.set("127.0.0.1");
  while (status_of(gateway) != "200") {
  }
}

TEST(NamedEndpoint, ThatIsUnknownIsARetryAtAnother) {
  ScriptedPeer origin(always_answer("here"));
  Names names;
  gateway::GatewayConfig config = named(1);
  config.upstreams[0].endpoints.push_back("127.0.0.1:" + std::to_string(origin.port()));
  config.routes[0].retry.max_retries = 1;
  RunningGateway gateway(config, names.lookup());
  EXPECT_EQ(status_of(gateway), "200");
  const auto attempts = gateway.events().wait_for<AttemptDone>(2);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].cause, Cause::dns_failure);
  EXPECT_EQ(name_of(attempts[0].why_retried), "conn-failure");
}

TEST(NamedEndpoint, ThatMovesTakesNoMoreRequestsOnItsOldConnections) {
  ScriptedPeer origin(always_answer("here"));
  Names names;
  names.set("127.0.0.1");
  RunningGateway gateway(named(origin.port()), names.lookup());
  EXPECT_EQ(status_of(gateway), "200");
  EXPECT_EQ(status_of(gateway), "200");
  EXPECT_EQ(origin.connections(), 1);
  names.set("127.0.0.9");  // nobody listens there
  while (status_of(gateway) != "502") {
  }
  EXPECT_EQ(gateway.events().all<RequestDone>().back().cause, Cause::connect_refused);
  names.set("127.0.0.1");
  while (status_of(gateway) != "200") {
  }
  EXPECT_EQ(origin.connections(), 2);
}

TEST(NamedEndpoint, ThatCannotBeLookedUpAgainKeepsItsAddress) {
  ScriptedPeer origin(always_answer("here"));
  Names names;
  names.set("127.0.0.1");
  RunningGateway gateway(named(origin.port()), names.lookup());
  names.set("");
  const int before = names.lookups();
  while (names.lookups() < before + 3) {
    EXPECT_EQ(status_of(gateway), "200");
  }
}

TEST(NamedEndpoint, TheSystemKnowsLocalhost) {
  ScriptedPeer origin(always_answer("here"));
  gateway::GatewayConfig config = named(origin.port());
  config.upstreams[0].endpoints = {"localhost:" + std::to_string(origin.port())};
  RunningGateway gateway(config);
  EXPECT_EQ(status_of(gateway), "200");
}

TEST(NamedEndpoint, IsProbedWhereItIs) {
  ScriptedPeer origin(always_answer("here"));
  Names names;
  gateway::GatewayConfig config = named(origin.port());
  auto& health = config.upstreams[0].health;
  health.enabled = true;
  health.interval = health.fast_interval = health.down_interval = milliseconds{20};
  health.fall = health.rise = 1;
  RunningGateway gateway(config, names.lookup());
  EXPECT_EQ(name_of(gateway.events().wait_for<ProbeDone>(1)[0].verdict), "dns_failure");
  names.set("127.0.0.1");
  const auto changes = gateway.events().wait_for<Transition>(2);
  ASSERT_GE(changes.size(), 2U);
  EXPECT_EQ(name_of(changes[0].to_state), "down");
  EXPECT_EQ(name_of(changes[1].to_state), "up");
}

}  // namespace
}  // namespace gatedrill::testing
