#include "gateway/http/body_digest.hpp"

#include <cassert>

#include <openssl/evp.h>

namespace gatedrill::http {

struct BodyDigest::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};

  State() { start(); }

  void start() {
    const bool started = context && EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr) == 1;
    assert(started);
  }
};

BodyDigest::BodyDigest() : state_(std::make_unique<State>()) {}

BodyDigest::BodyDigest(BodyDigest&&) noexcept = default;
BodyDigest& BodyDigest::operator=(BodyDigest&&) noexcept = default;
BodyDigest::~BodyDigest() = default;

void BodyDigest::update(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

BodyDigest::Value BodyDigest::finish() {
  Value value{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context.get(), value.data(), &size);
  assert(size == value.size());
  state_->start();
  return value;
}

BodyDigest::Value BodyDigest::of(std::string_view body) {
  BodyDigest digest;
  digest.update(body);
  return digest.finish();
}

std::string to_hex(const BodyDigest::Value& value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(value.size() * 2);
  for (const std::uint8_t byte : value) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0x0fU];
  }
  return text;
}

}  // namespace gatedrill::http
