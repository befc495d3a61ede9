#include "gateway/proxy/worker.hpp"

#include <algorithm>
#include <future>
#include <utility>

namespace gatedrill::gateway {

namespace asio = boost::asio;

namespace {

// Kept connections are closed at most this late; they are never used after their time.
constexpr Duration kSweepMax = std::chrono::seconds{1};
constexpr Duration kSweepMin = std::chrono::milliseconds{20};

}  // namespace

Worker::Worker(Shared& shared, std::size_t index, const Surroundings& surroundings)
    : own_context_(surroundings.context == nullptr ? std::make_unique<asio::io_context>(1)
                                                   : nullptr),
      context_(own_context_ ? *own_context_ : *surroundings.context),
      clock_(surroundings.clock),
      places_(surroundings.places),
      shard_(std::make_unique<Shard>(shared, index, context_, clock_, surroundings.sink)),
      sweep_(context_, clock_, *this) {
  shard_->on_session_ended = [this, tell = surroundings.on_session_ended] {
    places_.leave();
    tell();
  };
}

Worker::~Worker() {
  join();
}

void Worker::join() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

Result<TcpEndpoint> Worker::listen(const TcpEndpoint& address, bool shared) {
  auto listener = std::make_unique<Listener>(
      shard_->reactor(), places_,
      [this](int descriptor, const TcpEndpoint& peer) { shard_->accept(descriptor, peer); });
  if (auto opened = listener->open(address, shared); !opened) return opened.error();
  listeners_.push_back(std::move(listener));
  return listeners_.back()->local();
}

void Worker::start() {
  resume_listening();
  on_deadline();
  if (own_context_) thread_ = std::thread([this] { context_.run(); });
}

void Worker::resume_listening() {
  for (const auto& listener : listeners_)
    listener->start();
}

void Worker::stop_listening() {
  listeners_.clear();
}

void Worker::post(std::function<void()> task) {
  asio::post(context_, [alive = std::weak_ptr(alive_), task = std::move(task)] {
    if (!alive.expired()) task();
  });
}

void Worker::call(const std::function<void()>& task) {
  if (!thread_.joinable()) {
    task();
    return;
  }
  std::promise<void> done;
  asio::post(context_, [&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

void Worker::evict(std::size_t upstream, std::size_t endpoint) {
  Pool& pool = shard_->upstreams()[upstream]->pools.pool(endpoint);
  pool.evict_all();
  shard_->connections().close_evicted(pool);
}

// The sweep: closes what pools give up as time passes.
void Worker::on_deadline() {
  const TimePoint now = clock_.now();
  TimePoint next = now + kSweepMax;
  for (const auto& each : shard_->upstreams()) {
    for (std::size_t i = 0; i < each->shared.addresses->size(); ++i) {
      Pool& pool = each->pools.pool(i);
      pool.expire(now);
      if (each->moved(i)) pool.evict_all(Pool::Eviction::endpoint_moved);
      shard_->connections().close_evicted(pool);
      next = std::min(next, pool.next_wakeup());
    }
    shard_->settle(each->shared);
  }
  sweep_.set(std::max(next, now + kSweepMin));
}

}  // namespace gatedrill::gateway
