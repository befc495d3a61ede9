// The kernel's word on which sockets of one shard can be read and written.
//
//   io_context ──one wait──► drain: epoll_wait ──► Watched::on_ready(events), socket by socket
//                              ▲                        │ defer(key): once more, after the others
//                              └────────────────────────┘
//
// Why not Asio's own: it tries to read before it waits, which costs each message a system call that
// finds nothing, and it queues, locks and allocates for every operation. Here a socket is
// registered once, for everything, edge-triggered; whoever watches it remembers what it was told
// and asks the kernel only for what is there. Timers, names and probes stay with Asio: the
// reactor's descriptor is itself waited for by the io_context, one wait for many events.
//
// A key that was removed is never told anything, even if the kernel has reported it already or its
// descriptor has a new owner. Used on the context's thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio.hpp>
#include <sys/epoll.h>

#include "gateway/core/traffic_tap.hpp"
#include "gateway/net/read_buffers.hpp"

namespace gatedrill::gateway {

class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  // The socket's state as EPOLL bits: what has changed; none when it had itself deferred. May
  // remove and destroy whatever it wants, itself included.
  virtual void on_ready(std::uint32_t events) = 0;

 protected:
  ~Watched() = default;
};

class Reactor {
 public:
  // Of one registration; 0 is none.
  using Key = std::uint64_t;

  // Opens its descriptor, or throws as the io_context itself does. `context` outlives it.
  explicit Reactor(boost::asio::io_context& context);
  // On the context's thread, or when it is not running any more.
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Whatever happens to the socket from now on, and what is the case already. 0 and errno if the
  // kernel has no room.
  [[nodiscard]] Key add(int descriptor, Watched& watched);
  // Before its descriptor is closed, which is what takes it away from the kernel.
  void remove(Key key);

  // Calls on_ready(0) soon, but not from in here.
  void defer(Key key);

  [[nodiscard]] ReadBuffers& buffers() { return buffers_; }

  // Who is told of the bytes of its connections; null: nobody.
  [[nodiscard]] TrafficTap* tap() { return tap_; }

  // Outlives the connections that are opened from now on.
  void tap_with(TrafficTap* tap) { tap_ = tap; }

  [[nodiscard]] boost::asio::io_context& context() { return context_; }

 private:
  struct Slot {
    Watched* watched = nullptr;
    std::uint32_t generation = 1;
  };

  class Wait;

  [[nodiscard]] Watched* find(Key key) const;
  void drain();
  void run_deferred();

  boost::asio::io_context& context_;
  ReadBuffers buffers_;
  TrafficTap* tap_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Key> deferred_;
  std::vector<Key> running_;  // of deferred_, kept for its memory
  std::array<epoll_event, 64> events_;
  bool draining_ = false;
  std::shared_ptr<Wait> wait_;
};

}  // namespace gatedrill::gateway
