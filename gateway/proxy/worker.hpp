// One shard at work: it accepts clients and gives up kept connections in time, on the caller's
// io_context or on a thread and a context of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio.hpp>

#include "gateway/net/deadline.hpp"
#include "gateway/net/listener.hpp"
#include "gateway/net/places.hpp"
#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {

class Worker final : private DeadlineOwner {
 public:
  // Where it runs and what it tells.
  struct Surroundings {
    boost::asio::io_context* context = nullptr;  // null: its own, on a thread of its own
    const SteadyClock& clock;
    EventSink& sink;
    Places& places;                          // for clients
    std::function<void()> on_session_ended;  // on its thread, the place given back
  };

  // Everything outlives it.
  Worker(Shared& shared, std::size_t index, const Surroundings& surroundings);
  // Ends its own thread. Without one: on the context's thread, or when it is not running any more.
  ~Worker() override;

  [[nodiscard]] Shard& shard() { return *shard_; }

  // Before it starts: another address to listen on. Returns the real one.
  Result<TcpEndpoint> listen(const TcpEndpoint& address, bool shared);

  void start();
  // Ends its own thread; whatever was posted stays undone.
  void join();

  // On its thread, from then on.
  void resume_listening();
  void stop_listening();

  // From any thread: on its thread, later.
  void post(std::function<void()> task);
  // On its thread, now: waits until it is done. Only from the thread of the first worker.
  void call(const std::function<void()>& task);

  // Closes the kept connections to one endpoint. On its thread.
  void evict(std::size_t upstream, std::size_t endpoint);

 private:
  void on_deadline() override;

  std::unique_ptr<boost::asio::io_context> own_context_;
  boost::asio::io_context& context_;
  const SteadyClock& clock_;
  Places& places_;
  std::unique_ptr<Shard> shard_;
  DeadlineTimer sweep_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // for tasks that outlast it
  std::thread thread_;
};

}  // namespace gatedrill::gateway
