#include "tests/support/running_gateway.hpp"

#include <future>
#include <utility>

#include <boost/asio.hpp>
#include <gtest/gtest.h>

namespace gatedrill::testing {

struct RunningGateway::Context {
  boost::asio::io_context io{1};
};

void KeptEvents::publish(const Event& event) noexcept {
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
  changed_.notify_all();
}

RunningGateway::RunningGateway(gateway::GatewayConfig config)
    : RunningGateway(std::move(config), nullptr) {}

RunningGateway::RunningGateway(gateway::GatewayConfig config,
                               std::function<std::vector<std::string>(const std::string&)> look_up)
    : context_(std::make_unique<Context>()) {
  config.listen = {"127.0.0.1:0"};
  server_ = std::make_unique<gateway::GatewayServer>(config, clock_, events_, context_->io);
  if (look_up) server_->look_up_with(std::move(look_up));
  const auto started = server_->start();
  EXPECT_TRUE(started) << (started ? "" : started.error().message);
  port_ = server_->port();
  thread_ = std::thread([this] {
    const auto work = boost::asio::make_work_guard(context_->io);
    context_->io.run();
  });
}

RunningGateway::~RunningGateway() {
  boost::asio::post(context_->io, [this] {
    server_->stop();
    context_->io.stop();
  });
  thread_.join();
  server_.reset();
}

void RunningGateway::on_its_thread(const std::function<void(gateway::GatewayServer&)>& run) {
  std::promise<void> done;
  boost::asio::post(context_->io, [&] {
    run(*server_);
    done.set_value();
  });
  done.get_future().wait();
}

gateway::GatewayConfig shop_config(const std::vector<std::uint16_t>& ports) {
  gateway::GatewayConfig config;
  gateway::UpstreamConfig upstream;
  upstream.name = "shop";
  for (const std::uint16_t port : ports)
    upstream.endpoints.push_back("127.0.0.1:" + std::to_string(port));
  config.upstreams.push_back(upstream);
  gateway::RouteConfig route;
  route.name = "all";
  route.upstream = "shop";
  config.routes.push_back(route);
  return config;
}

}  // namespace gatedrill::testing
