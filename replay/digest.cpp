#include "replay/digest.hpp"

#include <array>
#include <cassert>

#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace gatedrill::replay {
namespace {

constexpr std::size_t kDigestBytesMax = 64;

const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

std::string to_string(const std::array<unsigned char, kDigestBytesMax>& bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

void Digest::Free::operator()(evp_md_st* algorithm) const {
  EVP_MD_free(algorithm);
}

Digest::Digest(const char* algorithm)
    : algorithm_(EVP_MD_fetch(nullptr, algorithm, nullptr)), context_(EVP_MD_CTX_new()) {
  assert(algorithm_ != nullptr && context_ != nullptr);
}

std::string Digest::of(std::string_view bytes) {
  std::array<unsigned char, kDigestBytesMax> out{};
  unsigned size = 0;
  [[maybe_unused]] const bool done =
      EVP_DigestInit_ex2(context_.get(), algorithm_.get(), nullptr) == 1 &&
      EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1 &&
      EVP_DigestFinal_ex(context_.get(), out.data(), &size) == 1;
  assert(done);
  return to_string(out, size);
}

void KeyedDigest::Free::operator()(evp_mac_ctx_st* context) const {
  EVP_MAC_CTX_free(context);
}

KeyedDigest::KeyedDigest() : KeyedDigest(random_bytes(32)) {}

KeyedDigest::KeyedDigest(std::string_view key) {
  EVP_MAC* algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  context_.reset(EVP_MAC_CTX_new(algorithm));
  EVP_MAC_free(algorithm);
  std::string name = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string("digest", name.data(), 0), OSSL_PARAM_construct_end()};
  [[maybe_unused]] const bool ready =
      EVP_MAC_init(context_.get(), unsigned_bytes(key), key.size(), parameters.data()) == 1;
  assert(ready);
}

std::string KeyedDigest::of(std::string_view bytes) {
  std::array<unsigned char, kDigestBytesMax> out{};
  std::size_t size = 0;
  // Initialised without a key, the context starts anew under the one it has.
  [[maybe_unused]] const bool done =
      EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1 &&
      EVP_MAC_update(context_.get(), unsigned_bytes(bytes), bytes.size()) == 1 &&
      EVP_MAC_final(context_.get(), out.data(), &size, out.size()) == 1;
  assert(done);
  return to_string(out, size);
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  [[maybe_unused]] const bool random =
      RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1;
  assert(random);
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

}  // namespace gatedrill::replay
