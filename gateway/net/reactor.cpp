#include "gateway/net/reactor.hpp"

#include <cerrno>
#include <system_error>

namespace gatedrill::gateway {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// So often it looks for more before timers and others have their turn.
constexpr int kRounds = 4;
// Fewer events than these at once: the next ones are hardly here yet, so it waits for them.
constexpr int kBusy = 4;

Reactor::Key key_of(std::size_t index, std::uint32_t generation) {
  return Reactor::Key{generation} << 32U | static_cast<std::uint32_t>(index);
}

std::size_t index_of(Reactor::Key key) {
  return static_cast<std::uint32_t>(key);
}

}  // namespace

// The reactor's epoll descriptor, and the io_context's wait for it. Outlives the reactor as long as
// that wait is in flight.
class Reactor::Wait : public std::enable_shared_from_this<Wait> {
 public:
  Wait(Reactor& reactor, int descriptor)
      : reactor_(&reactor), epoll_(reactor.context_.get_executor(), descriptor) {}

  [[nodiscard]] int descriptor() { return epoll_.native_handle(); }

  // Until there are events.
  void start() {
    epoll_.async_wait(asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](const error_code& error) {
                        if (!error && self->reactor_ != nullptr) self->reactor_->drain();
                      });
  }

  // Not at all: there is something to do.
  void skip() {
    asio::post(epoll_.get_executor(), [self = shared_from_this()] {
      if (self->reactor_ != nullptr) self->reactor_->drain();
    });
  }

  // What was deferred outside of a drain needs one; the wait for events goes on.
  void run_deferred() {
    asio::post(epoll_.get_executor(), [self = shared_from_this()] {
      if (self->reactor_ != nullptr) self->reactor_->run_deferred();
    });
  }

  void stop() {
    reactor_ = nullptr;
    error_code ignored;
    epoll_.close(ignored);
  }

 private:
  Reactor* reactor_;
  asio::posix::basic_stream_descriptor<asio::io_context::executor_type> epoll_;
};

Reactor::Reactor(asio::io_context& context) : context_(context) {
  const int descriptor = ::epoll_create1(EPOLL_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::system_category(), "epoll_create1");
  wait_ = std::make_shared<Wait>(*this, descriptor);
  wait_->start();
}

Reactor::~Reactor() {
  wait_->stop();
}

Reactor::Key Reactor::add(int descriptor, Watched& watched) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::size_t index = free_slots_.back();
  Slot& slot = slots_[index];
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = key_of(index, slot.generation);
  if (::epoll_ctl(wait_->descriptor(), EPOLL_CTL_ADD, descriptor, &event) != 0) return 0;
  free_slots_.pop_back();
  slot.watched = &watched;
  return event.data.u64;
}

void Reactor::remove(Key key) {
  if (find(key) == nullptr) return;
  const std::size_t index = index_of(key);
  Slot& slot = slots_[index];
  slot.watched = nullptr;
  if (++slot.generation == 0) slot.generation = 1;
  free_slots_.push_back(static_cast<std::uint32_t>(index));
}

Watched* Reactor::find(Key key) const {
  const std::size_t index = index_of(key);
  if (index >= slots_.size()) return nullptr;
  const Slot& slot = slots_[index];
  return key_of(index, slot.generation) == key ? slot.watched : nullptr;
}

void Reactor::defer(Key key) {
  if (deferred_.empty() && !draining_) wait_->run_deferred();
  deferred_.push_back(key);
}

void Reactor::run_deferred() {
  running_.swap(deferred_);
  // What these defer comes after the next events.
  draining_ = true;
  for (const Key key : running_) {
    if (Watched* watched = find(key)) watched->on_ready(0);
  }
  draining_ = false;
  running_.clear();
  if (!deferred_.empty()) wait_->run_deferred();
}

void Reactor::drain() {
  for (int round = 0; round < kRounds; ++round) {
    const int count =
        ::epoll_wait(wait_->descriptor(), events_.data(), static_cast<int>(events_.size()), 0);
    draining_ = true;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events_[static_cast<std::size_t>(i)];
      if (Watched* watched = find(event.data.u64)) watched->on_ready(event.events);
    }
    draining_ = false;
    if (!deferred_.empty()) run_deferred();
    if (count < kBusy) {
      wait_->start();
      return;
    }
  }
  wait_->skip();
}

}  // namespace gatedrill::gateway
