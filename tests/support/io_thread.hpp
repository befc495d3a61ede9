// An io_context that runs on a thread of its own, for tests of live drivers with blocking peers.
#pragma once

#include <future>
#include <thread>
#include <utility>

#include <boost/asio.hpp>

namespace gatedrill::testing {

class IoThread {
 public:
  IoThread() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}

  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  ~IoThread() { stop(); }

  boost::asio::io_context& io() { return io_; }

  // Runs it on the thread and waits for what it returns.
  template <class Action>
  auto run(Action action) {
    std::packaged_task<decltype(action())()> task(std::move(action));
    auto result = task.get_future();
    boost::asio::post(io_, [&task] { task(); });
    return result.get();
  }

  // Lets what has been cancelled end, then joins.
  void stop() {
    if (!thread_.joinable()) return;
    work_.reset();
    thread_.join();
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace gatedrill::testing
