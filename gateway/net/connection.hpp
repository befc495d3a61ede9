// One TCP connection, to a client or to an upstream, with the bytes that have arrived on it.
//
// A read is kept pending whenever there is room: it is the wait for the next message, the watch for
// a peer that leaves and the watch over an idle connection in one, at the price of the first alone.
// Writes are tried at once and wait only when the kernel takes no more.
//
//   start_read() ──► ... ──► owner.on_connection_event ──► input() / ended()
//   write(bytes) ──► count < size ──► await_writable() ──► owner.on_connection_event ──►
//   write(rest) connect(to)  ──► owner.on_connection_event ──► connecting() is false,
//   connect_error()
//
// Used on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio.hpp>

#include "gateway/net/reactor.hpp"

namespace gatedrill::gateway {

using TcpEndpoint = boost::asio::ip::tcp::endpoint;

class Connection;

class ConnectionOwner {
 public:
  ConnectionOwner() = default;
  ConnectionOwner(const ConnectionOwner&) = delete;
  ConnectionOwner& operator=(const ConnectionOwner&) = delete;
  virtual ~ConnectionOwner() = default;
  // Something was read, the peer closed, or what was waited for has come. May let go of it.
  virtual void on_connection_event(Connection& connection) = 0;
};

class Connection final : private Watched {
 public:
  // A connection that is yet to be opened with connect. `reactor` outlives it.
  Connection(Reactor& reactor, std::uint64_t id) : reactor_(reactor), id_(id) {}

  // An accepted one; the descriptor does not block.
  Connection(Reactor& reactor, std::uint64_t id, int accepted);
  ~Connection();

  [[nodiscard]] std::uint64_t id() const { return id_; }

  // Who is told. Nobody after nullptr.
  void owned_by(ConnectionOwner* owner) { owner_ = owner; }

  void connect(const TcpEndpoint& to);

  [[nodiscard]] bool connecting() const { return connecting_; }

  [[nodiscard]] const boost::system::error_code& connect_error() const { return connect_error_; }

  // What has arrived and was not consumed. Views into it live until the next start_read.
  [[nodiscard]] std::string_view input() const { return {buffer_.get() + begin_, end_ - begin_}; }

  void consume(std::size_t bytes) { begin_ += bytes; }

  // Keeps a read pending unless one is, the peer has closed or `limit` bytes wait to be consumed.
  void start_read(std::size_t limit = ReadBuffers::kSmall);

  // No more will arrive: end of file (read_error is then asio::error::eof) or an error.
  [[nodiscard]] bool ended() const { return static_cast<bool>(read_error_); }

  [[nodiscard]] const boost::system::error_code& read_error() const { return read_error_; }

  // Writes what the kernel takes now.
  std::size_t write(std::string_view bytes);

  // Written, and not yet known to have reached the peer.
  [[nodiscard]] std::size_t unacknowledged();

  // The owner is told once more can be written.
  void await_writable();

  [[nodiscard]] const boost::system::error_code& write_error() const { return write_error_; }

  // Nothing more will be written; the peer reads an end of file.
  void shutdown_write();
  void close();
  // Closes with a reset: the peer sees that something is missing.
  void abort();

 private:
  void on_ready(std::uint32_t events) override;
  void watch();
  void finish_connect();
  [[nodiscard]] bool receive();
  void make_room();
  void give_back_buffer();

  [[nodiscard]] bool tapped() const { return tapped_.id != 0; }

  void tell_opened(const TcpEndpoint* to);  // null: it was accepted
  void tell_connected();
  void tell_ended(ConnectionEnding ending, bool closed);

  Reactor& reactor_;
  std::uint64_t id_;
  ConnectionOwner* owner_ = nullptr;
  Reactor::Key key_ = 0;
  int descriptor_ = -1;

  bool connecting_ = false;
  // What is waited for.
  bool reading_ = false;
  bool awaiting_writable_ = false;
  // What the kernel has said and has not taken back.
  bool readable_ = false;
  bool writable_ = false;
  bool peer_ended_ = false;  // an end of file or an error comes after what can be read
  bool filled_ = false;      // the last read left no room: more is coming at once

  TappedConnection tapped_;

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;

  boost::system::error_code connect_error_;
  boost::system::error_code read_error_;
  boost::system::error_code write_error_;
};

}  // namespace gatedrill::gateway
