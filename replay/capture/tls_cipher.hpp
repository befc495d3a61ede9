// The cryptography of reading TLS records, all of it OpenSSL's: which cipher suite a server chose,
// the keys that follow from a secret, and whether a record opens with a key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_cipher_ctx_st;
struct evp_cipher_st;
struct evp_md_st;

namespace gatedrill::replay::capture {

// The content types of records.
enum class TlsContent : std::uint8_t {
  change_cipher_spec = 20,
  alert = 21,
  handshake = 22,
  application_data = 23,
};

struct TlsSuite {
  // The two bytes of a ServerHello. Nothing for one that OpenSSL does not have, or that does not
  // encrypt.
  static std::optional<TlsSuite> find(std::uint16_t code);

  const evp_cipher_st* cipher = nullptr;
  const evp_md_st* hash = nullptr;  // of the key derivation
  const evp_md_st* mac = nullptr;   // none: the cipher authenticates (AEAD)
  std::size_t tag_bytes = 16;       // of an AEAD
};

struct TlsRecordHeader {
  static constexpr std::size_t kBytes = 5;

  std::uint8_t type = 0;
  std::uint16_t version = 0;
  std::size_t length = 0;  // of what follows
};

// Opens the records of one direction under one key.
class TlsRecordKey {
 public:
  struct Opened {
    TlsContent type = TlsContent::application_data;
    std::string_view content;  // lives until the next call
  };

  struct Tls12 {
    std::string_view master;
    std::string_view client_random;
    std::string_view server_random;
    bool encrypt_then_mac = false;
  };

  static TlsRecordKey tls12(const TlsSuite& suite, const Tls12& secrets, bool of_client);
  static TlsRecordKey tls13(const TlsSuite& suite, std::string_view traffic_secret);

  // TLS 1.3: the key that a KeyUpdate changes to. Nothing in TLS 1.2.
  [[nodiscard]] std::optional<TlsRecordKey> next() const;

  // Nothing if the record is not the one of this number under this key.
  std::optional<Opened> open(const TlsRecordHeader& header,
                             std::string_view fragment,
                             std::uint64_t number);

  // How many bytes of a fragment are no content; nothing where that differs from record to record.
  [[nodiscard]] std::optional<std::size_t> overhead() const;

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const;
  };

  explicit TlsRecordKey(const TlsSuite& suite);
  [[nodiscard]] std::string nonce(std::string_view explicit_part, std::uint64_t number) const;
  bool decrypt_aead(std::string_view nonce,
                    std::string_view authenticated,
                    std::string_view sealed);
  std::optional<Opened> open_block(const TlsRecordHeader& header,
                                   std::string_view fragment,
                                   std::uint64_t number);
  bool decrypt_blocks(std::string_view fragment);
  [[nodiscard]] bool mac_matches(std::string_view authenticated, std::string_view mac) const;

  TlsSuite suite_;
  bool tls13_ = false;
  bool encrypt_then_mac_ = false;
  std::string secret_;  // TLS 1.3: the traffic secret
  std::string key_;
  std::string iv_;
  std::string mac_key_;
  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
  std::string content_;
};

}  // namespace gatedrill::replay::capture
