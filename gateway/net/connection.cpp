#include "gateway/net/connection.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace gatedrill::gateway {

namespace asio = boost::asio;
using boost::system::error_code;

Connection::Connection(const Executor& executor, std::uint64_t id) : socket_(executor), id_(id) {}

Connection::Connection(Socket socket, std::uint64_t id) : socket_(std::move(socket)), id_(id) {
  prepare();
}

void Connection::prepare() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void Connection::connect(const TcpEndpoint& to) {
  connecting_ = true;
  error_code failed;
  socket_.open(to.protocol(), failed);
  if (failed) {
    connecting_ = false;
    connect_error_ = failed;
    return;
  }
  prepare();
  socket_.async_connect(to, [self = shared_from_this()](const error_code& error) {
    self->connecting_ = false;
    self->connect_error_ = error;
    self->tell_owner();
  });
}

// Moves what waits to the front or grows the buffer, so that at least one byte more fits.
void Connection::make_room(std::size_t limit) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ < capacity_) return;
  if (begin_ > 0 && (begin_ >= capacity_ / 2 || capacity_ >= limit)) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    return;
  }
  const std::size_t larger = std::max(kBufferBytes, std::min(limit, capacity_ * 2));
  std::unique_ptr<char[]> buffer(new char[larger]);
  if (end_ > begin_) std::memcpy(buffer.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  buffer_ = std::move(buffer);
  capacity_ = larger;
}

void Connection::start_read(std::size_t limit) {
  if (reading_ || read_error_ || end_ - begin_ >= limit) return;
  make_room(limit);
  reading_ = true;
  socket_.async_read_some(asio::buffer(buffer_.get() + end_, capacity_ - end_),
                          [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                            self->reading_ = false;
                            self->end_ += bytes;
                            if (error) self->read_error_ = error;
                            self->tell_owner();
                          });
}

std::size_t Connection::written(std::size_t bytes) {
  if (write_error_ == asio::error::would_block || write_error_ == asio::error::try_again) {
    write_error_.clear();
  }
  return bytes;
}

std::size_t Connection::write(std::string_view bytes) {
  if (write_error_ || bytes.empty()) return 0;
  return written(socket_.write_some(asio::buffer(bytes), write_error_));
}

std::size_t Connection::unacknowledged() {
  int bytes = 0;
  if (::ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) != 0) return 0;
  return static_cast<std::size_t>(bytes);
}

void Connection::await_writable() {
  if (awaiting_writable_) return;
  awaiting_writable_ = true;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code& error) {
    self->awaiting_writable_ = false;
    if (error && !self->write_error_) self->write_error_ = error;
    self->tell_owner();
  });
}

void Connection::shutdown_write() {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Connection::close() {
  error_code ignored;
  socket_.close(ignored);
}

void Connection::abort() {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

void Connection::tell_owner() {
  if (owner_ != nullptr) owner_->on_connection_event(*this);
}

}  // namespace gatedrill::gateway
