// A blocking TCP socket on loopback for tests, with a deadline on every read, so that a test sees
// exactly what a peer sees: bytes, FIN or the errno of a reset.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gatedrill::testing {

class RawSocket {
 public:
  RawSocket() = default;
  explicit RawSocket(int descriptor);

  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  RawSocket& operator=(RawSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  ~RawSocket() { close(); }

  // Not connected if the peer refuses; connect_error() then is its errno.
  static RawSocket connect(std::uint16_t port);

  [[nodiscard]] bool connected() const { return fd_ >= 0; }

  [[nodiscard]] static int connect_error() { return last_connect_error; }

  // False if the peer is gone.
  bool send(std::string_view bytes);

  struct Read {
    std::string bytes;
    bool fin = false;
    int error = 0;  // errno, EAGAIN at the deadline
  };

  // What comes next: some bytes, FIN or an error. Waits up to five seconds.
  [[nodiscard]] Read read(std::size_t size_max = 65536);
  // Reads until `size` bytes are there or the connection ends.
  [[nodiscard]] Read read_exactly(std::size_t size);
  // Reads until the text has ended with `end`, or the connection ends.
  [[nodiscard]] Read read_until(std::string_view end);

  // Instead of five seconds, from here on.
  void set_read_limit(std::chrono::milliseconds limit);

  void shut_down_sending();
  // Closes with RST.
  void reset();
  void close();
  // How the kernel sees the connection (TCP_INFO), such as TCP_CLOSE_WAIT.
  [[nodiscard]] int tcp_state() const;

 private:
  static thread_local int last_connect_error;
  int fd_ = -1;
};

class RawListener {
 public:
  RawListener();
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  ~RawListener();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Waits up to five seconds.
  [[nodiscard]] RawSocket accept();

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace gatedrill::testing
