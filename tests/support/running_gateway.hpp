// A gateway on a free loopback port, in a thread of its own, with the events that it published.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "gateway/config/gateway_config.hpp"
#include "gateway/core/event.hpp"
#include "gateway/proxy/server.hpp"

namespace gatedrill::testing {

// Keeps every event; safe from any thread.
class KeptEvents final : public EventSink {
 public:
  void publish(const Event& event) noexcept override;

  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<T> found;
    for (const Event& event : events_) {
      if (const T* body = std::get_if<T>(&event.body)) found.push_back(*body);
    }
    return found;
  }

  // Waits (for 10 s at most) until there are `count` of them, and returns all.
  template <class T>
  [[nodiscard]] std::vector<T> wait_for(std::size_t count) const {
    const auto enough = [&] {
      std::size_t found = 0;
      for (const Event& event : events_)
        found += std::holds_alternative<T>(event.body) ? 1U : 0U;
      return found >= count;
    };
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::seconds{10}, enough);
    }
    return all<T>();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Event> events_;
};

class RunningGateway {
 public:
  // Listens on a free port whatever the configuration says.
  explicit RunningGateway(gateway::GatewayConfig config);
  // The same, with names looked up like this.
  RunningGateway(gateway::GatewayConfig config,
                 std::function<std::vector<std::string>(const std::string&)> look_up);
  RunningGateway(const RunningGateway&) = delete;
  RunningGateway& operator=(const RunningGateway&) = delete;
  ~RunningGateway();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  [[nodiscard]] const KeptEvents& events() const { return events_; }

  [[nodiscard]] const SteadyClock& clock() const { return clock_; }

  // Runs it on the gateway's thread and waits for it.
  void on_its_thread(const std::function<void(gateway::GatewayServer&)>& run);

 private:
  struct Context;

  SteadyClock clock_;
  KeptEvents events_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<gateway::GatewayServer> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// One upstream "shop" with these endpoints on loopback and one route "/" to it. Health checks off.
[[nodiscard]] gateway::GatewayConfig shop_config(const std::vector<std::uint16_t>& ports);

}  // namespace gatedrill::testing
