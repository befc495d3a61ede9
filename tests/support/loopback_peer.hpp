// The other end of a loopback connection, byte by byte: plain blocking sockets, so that a test says
// exactly what a peer sends, in which pieces, and how it ends.
//
// On loopback, bytes are in the receiver's queue when send() returns: a test that drives both ends
// from one thread needs no waiting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gatedrill::testing {

class PeerSocket {
 public:
  PeerSocket() = default;

  explicit PeerSocket(int socket) : socket_(socket) {}

  PeerSocket(PeerSocket&& other) noexcept;
  PeerSocket& operator=(PeerSocket&& other) noexcept;
  ~PeerSocket();

  [[nodiscard]] bool is_open() const { return socket_ >= 0; }

  // A head with the body that its Content-Length announces; what came if the connection ends
  // first, so empty at a plain end.
  std::string read_request();
  // Up to and with `end`; what came if the connection ends first.
  std::string read_until(std::string_view end);
  // What comes next; empty at the end of the connection.
  std::string read_some();
  // Everything up to the end of the connection.
  std::string read_to_end();
  // What has come, thrown away without waiting: how many bytes.
  std::size_t read_available();
  // False if the connection is gone.
  bool send(std::string_view bytes);
  // Sends up to `size_max` bytes while the other side takes them; how many those were.
  std::size_t send_until_stuck(std::size_t size_max);
  void close();
  void reset();      // RST, at this moment
  void finish();     // FIN; reading goes on
  void shut_down();  // both ways, from another thread: wakes a reader

 private:
  bool receive();

  int socket_ = -1;
  std::string unread_;
};

class LoopbackListener {
 public:
  // On 127.0.0.1, a free port.
  explicit LoopbackListener(int backlog = 128);
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;
  ~LoopbackListener();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Waits for a connection. Not open (send fails) once the listener is shut down.
  PeerSocket accept();
  [[nodiscard]] bool has_connection() const;  // without waiting
  void shut_down();                           // from another thread: wakes accept

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

// A port of 127.0.0.1 where nothing listens (it was free a moment ago).
[[nodiscard]] std::uint16_t unused_port();

// A blocking client connection.
[[nodiscard]] PeerSocket connect_to(std::uint16_t port);

}  // namespace gatedrill::testing
