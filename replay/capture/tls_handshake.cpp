#include "replay/capture/tls_handshake.hpp"

#include <algorithm>

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kMessageHeaderBytes = 4;
// A ClientHello with post-quantum key shares has some thousand bytes.
constexpr std::size_t kMessageBytesMax = 64 * 1024;

constexpr std::uint16_t kEncryptThenMac = 22;
constexpr std::uint16_t kEarlyData = 42;
constexpr std::uint16_t kSupportedVersions = 43;

// The random of a ServerHello that is a HelloRetryRequest (RFC 8446 section 4.1.3).
constexpr std::string_view kRetryRandom =
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
    "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";

// Reads big-endian numbers and counted bytes; once something is missing, all that follows is.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::size_t number(std::size_t size) {
    std::size_t value = 0;
    for (const char c : take(size))
      value = value << 8U | static_cast<unsigned char>(c);
    return value;
  }

  std::string_view counted(std::size_t size_of_size) { return take(number(size_of_size)); }

  [[nodiscard]] bool good() const { return good_; }

  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

// Calls with number and content of each extension.
template <class Visit>
void each_extension(std::string_view list, const Visit& visit) {
  Bytes bytes(list);
  while (!bytes.empty()) {
    const auto type = static_cast<std::uint16_t>(bytes.number(2));
    const std::string_view content = bytes.counted(2);
    if (!bytes.good()) return;
    visit(type, content);
  }
}

}  // namespace

std::optional<TlsClientHello> parse_client_hello(std::string_view body) {
  Bytes bytes(body);
  bytes.take(2);  // the version, which later ones say elsewhere
  TlsClientHello hello;
  hello.random = bytes.take(kRandomBytes);
  bytes.counted(1);  // session id
  bytes.counted(2);  // suites
  bytes.counted(1);  // compressions
  if (!bytes.good()) return std::nullopt;
  each_extension(bytes.counted(2), [&](std::uint16_t type, std::string_view) {
    if (type == kEarlyData) hello.early_data = true;
  });
  return hello;
}

std::optional<TlsServerHello> parse_server_hello(std::string_view body) {
  Bytes bytes(body);
  TlsServerHello hello;
  hello.version = static_cast<std::uint16_t>(bytes.number(2));
  hello.random = bytes.take(kRandomBytes);
  bytes.counted(1);  // session id
  hello.suite = static_cast<std::uint16_t>(bytes.number(2));
  bytes.take(1);  // compression
  if (!bytes.good()) return std::nullopt;
  hello.retry = hello.random == kRetryRandom;
  each_extension(bytes.counted(2), [&](std::uint16_t type, std::string_view content) {
    if (type == kEncryptThenMac) hello.encrypt_then_mac = true;
    if (type == kSupportedVersions) {
      hello.version = static_cast<std::uint16_t>(Bytes(content).number(2));
    }
  });
  return hello;
}

bool accepts_early_data(std::string_view body) {
  bool accepts = false;
  each_extension(Bytes(body).counted(2), [&](std::uint16_t type, std::string_view) {
    if (type == kEarlyData) accepts = true;
  });
  return accepts;
}

std::optional<TlsHandshakeReader::Message> TlsHandshakeReader::next() {
  for (;;) {
    const std::size_t skipped = std::min(skip_, held_bytes());
    read_ += skipped;
    skip_ -= skipped;
    if (held_bytes() < kMessageHeaderBytes) return std::nullopt;
    Bytes bytes(std::string_view(held_).substr(read_));
    const auto type = static_cast<TlsHandshakeType>(bytes.number(1));
    const std::size_t size = bytes.number(3);
    if (size > kMessageBytesMax) {
      skip_ = kMessageHeaderBytes + size;
      continue;
    }
    if (held_bytes() < kMessageHeaderBytes + size) return std::nullopt;
    read_ += kMessageHeaderBytes + size;
    return Message{type, std::string(bytes.take(size))};
  }
}

}  // namespace gatedrill::replay::capture
