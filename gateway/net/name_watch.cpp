#include "gateway/net/name_watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace gatedrill::gateway {
namespace {

constexpr Duration kRetryUnknown = std::chrono::seconds{1};

}  // namespace

std::vector<std::string> system_lookup(const std::string& name) {
  boost::asio::io_context context;
  boost::asio::ip::tcp::resolver resolver(context);
  boost::system::error_code failed;
  std::vector<std::string> addresses;
  for (const auto& entry : resolver.resolve(name, "", failed))
    addresses.push_back(entry.endpoint().address().to_string());
  return addresses;
}

struct NameWatch::State {
  // The names that could not be looked up.
  std::vector<std::string> look_up_all() {
    std::vector<std::string> unknown;
    for (const auto& addresses : watched) {
      for (std::size_t i = 0; i < addresses->size(); ++i) {
        const std::string& name = addresses->name(i);
        if (name.empty() || is_stopped()) continue;
        addresses->found(i, look_up(name));
        if (!addresses->at(i)) unknown.push_back(name);
      }
    }
    return unknown;
  }

  void run(Duration interval) {
    bool all_known = true;
    for (;;) {
      const Duration pause = all_known ? interval : std::min(interval, kRetryUnknown);
      {
        std::unique_lock lock(mutex);
        if (changed.wait_for(lock, pause, [this] { return stopped; })) return;
      }
      all_known = look_up_all().empty();
    }
  }

  void stop() {
    const std::lock_guard lock(mutex);
    stopped = true;
    changed.notify_all();
  }

  [[nodiscard]] bool is_stopped() {
    const std::lock_guard lock(mutex);
    return stopped;
  }

  Watched watched;
  NameLookup look_up;
  std::mutex mutex;
  std::condition_variable changed;
  bool stopped = false;
};

NameWatch::NameWatch(Watched watched, NameLookup look_up) : state_(std::make_shared<State>()) {
  state_->watched = std::move(watched);
  state_->look_up = std::move(look_up);
}

NameWatch::~NameWatch() {
  state_->stop();
}

std::vector<std::string> NameWatch::look_up_all() {
  return state_->look_up_all();
}

void NameWatch::start(Duration interval) {
  const bool has_names =
      std::any_of(state_->watched.begin(), state_->watched.end(), [](const auto& addresses) {
        for (std::size_t i = 0; i < addresses->size(); ++i)
          if (!addresses->name(i).empty()) return true;
        return false;
      });
  if (!has_names) return;
  std::thread([state = state_, interval] { state->run(interval); }).detach();
}

}  // namespace gatedrill::gateway
