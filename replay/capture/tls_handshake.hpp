// What of a TLS handshake is needed to read the connection: the hellos. Messages may be split over
// records and several may share one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gatedrill::replay::capture {

enum class TlsHandshakeType : std::uint8_t {
  client_hello = 1,
  server_hello = 2,
  encrypted_extensions = 8,
};

struct TlsClientHello {
  std::string random;
  bool early_data = false;  // offers to send some before the server's answer
};

struct TlsServerHello {
  std::string random;
  std::uint16_t version = 0;  // what was agreed on: 0x0303 is TLS 1.2, 0x0304 is TLS 1.3
  std::uint16_t suite = 0;
  bool retry = false;  // a HelloRetryRequest: both hellos come once more
  bool encrypt_then_mac = false;
};

// Nothing if the message is damaged.
[[nodiscard]] std::optional<TlsClientHello> parse_client_hello(std::string_view body);
[[nodiscard]] std::optional<TlsServerHello> parse_server_hello(std::string_view body);
// Of EncryptedExtensions: whether the server takes the early data.
[[nodiscard]] bool accepts_early_data(std::string_view body);

// Puts the handshake messages of one direction together.
class TlsHandshakeReader {
 public:
  struct Message {
    TlsHandshakeType type = TlsHandshakeType::client_hello;
    std::string body;
  };

  void push(std::string_view bytes) {
    held_.erase(0, read_);
    read_ = 0;
    held_.append(bytes);
  }

  // The next whole message. Long ones, which are certificates, are left out.
  std::optional<Message> next();

  [[nodiscard]] std::size_t held_bytes() const { return held_.size() - read_; }

 private:
  std::string held_;
  std::size_t read_ = 0;  // of what is held
  std::size_t skip_ = 0;  // of what comes
};

}  // namespace gatedrill::replay::capture
