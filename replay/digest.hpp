// Hashes of bodies and pseudonyms of secrets, by OpenSSL. Private to replay.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;
struct evp_md_st;
struct evp_mac_ctx_st;

namespace gatedrill::replay {

// One algorithm, set up once. Not thread-safe.
class Digest {
 public:
  static Digest sha1() { return Digest("SHA1"); }

  // The raw bytes of the hash.
  [[nodiscard]] std::string of(std::string_view bytes);

 private:
  explicit Digest(const char* algorithm);

  struct Free {
    void operator()(evp_md_ctx_st* context) const;
    void operator()(evp_md_st* algorithm) const;
  };

  std::unique_ptr<evp_md_st, Free> algorithm_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// HMAC-SHA-256. Not thread-safe.
class KeyedDigest {
 public:
  // Under a random key that exists only as long as this object.
  KeyedDigest();
  explicit KeyedDigest(std::string_view key);
  [[nodiscard]] std::string of(std::string_view bytes);  // 32 bytes

 private:
  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };

  std::unique_ptr<evp_mac_ctx_st, Free> context_;
};

// Fit for keys.
[[nodiscard]] std::string random_bytes(std::size_t count);

[[nodiscard]] std::string to_hex(std::string_view bytes);

}  // namespace gatedrill::replay
