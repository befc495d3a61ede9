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
// Used on one thread. Operations in flight keep the object alive after its owner has let it go.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio.hpp>

namespace gatedrill::gateway {

using Executor = boost::asio::io_context::executor_type;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
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

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // A connection that is yet to be opened with connect.
  Connection(const Executor& executor, std::uint64_t id);
  // An accepted one.
  Connection(Socket socket, std::uint64_t id);

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
  void start_read(std::size_t limit = kBufferBytes);

  // No more will arrive: end of file (read_error is then asio::error::eof) or an error.
  [[nodiscard]] bool ended() const { return static_cast<bool>(read_error_); }

  [[nodiscard]] const boost::system::error_code& read_error() const { return read_error_; }

  // Writes what the kernel takes now.
  std::size_t write(std::string_view bytes);

  template <class Buffers>
  std::size_t write_gathered(const Buffers& buffers) {
    if (write_error_) return 0;
    return written(socket_.write_some(buffers, write_error_));
  }

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

  static constexpr std::size_t kBufferBytes = std::size_t{16} * 1024;

 private:
  void prepare();
  std::size_t written(std::size_t bytes);
  void make_room(std::size_t limit);
  void tell_owner();

  Socket socket_;
  std::uint64_t id_;
  ConnectionOwner* owner_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool reading_ = false;
  bool awaiting_writable_ = false;
  bool connecting_ = false;
  boost::system::error_code connect_error_;
  boost::system::error_code read_error_;
  boost::system::error_code write_error_;
};

}  // namespace gatedrill::gateway
