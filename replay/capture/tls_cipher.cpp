#include "replay/capture/tls_cipher.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kExplicitNonceBytes = 8;  // of TLS 1.2's GCM and CCM
constexpr std::size_t kNonceBytes = 12;

const unsigned char* in(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

unsigned char* out(std::string& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

int size_of(std::string_view bytes) {
  return static_cast<int>(bytes.size());
}

std::string big_endian(std::uint64_t value, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = size; i-- > 0; value >>= 8U)
    bytes[i] = static_cast<char>(value & 0xffU);
  return bytes;
}

OSSL_PARAM text_param(const char* name, std::string& value) {
  return OSSL_PARAM_construct_utf8_string(name, value.data(), 0);
}

OSSL_PARAM bytes_param(const char* name, std::string& value) {
  return OSSL_PARAM_construct_octet_string(name, value.data(), value.size());
}

std::string derive(const char* function, const OSSL_PARAM* params, std::size_t bytes) {
  EVP_KDF* algorithm = EVP_KDF_fetch(nullptr, function, nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(algorithm);
  EVP_KDF_free(algorithm);
  std::string derived(bytes, '\0');
  const bool done = EVP_KDF_derive(context, out(derived), bytes, params) == 1;
  EVP_KDF_CTX_free(context);
  // A secret of the wrong length opens nothing, which is told where it is used.
  return done ? derived : std::string(bytes, '\0');
}

// RFC 5246 section 5: PRF(master secret, label, seeds).
std::string prf(const evp_md_st* hash, const TlsRecordKey::Tls12& secrets, std::size_t bytes) {
  std::string digest = EVP_MD_get0_name(hash);
  std::string master(secrets.master);
  std::string seed = "key expansion";
  seed.append(secrets.server_random).append(secrets.client_random);
  const std::array params = {text_param(OSSL_KDF_PARAM_DIGEST, digest),
                             bytes_param(OSSL_KDF_PARAM_SECRET, master),
                             bytes_param(OSSL_KDF_PARAM_SEED, seed), OSSL_PARAM_construct_end()};
  return derive(OSSL_KDF_NAME_TLS1_PRF, params.data(), bytes);
}

// RFC 8446 section 7.1: HKDF-Expand-Label(secret, label, "", bytes).
std::string expand_label(const evp_md_st* hash,
                         std::string secret,
                         std::string label,
                         std::size_t bytes) {
  std::string digest = EVP_MD_get0_name(hash);
  std::string prefix = "tls13 ";
  int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  const std::array params = {OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                             text_param(OSSL_KDF_PARAM_DIGEST, digest),
                             bytes_param(OSSL_KDF_PARAM_KEY, secret),
                             bytes_param(OSSL_KDF_PARAM_PREFIX, prefix),
                             bytes_param(OSSL_KDF_PARAM_LABEL, label),
                             OSSL_PARAM_construct_end()};
  return derive(OSSL_KDF_NAME_TLS1_3_KDF, params.data(), bytes);
}

std::size_t key_bytes(const TlsSuite& suite) {
  return static_cast<std::size_t>(EVP_CIPHER_get_key_length(suite.cipher));
}

// OpenSSL names suites by their two bytes, but only in the presence of a connection.
const SSL_CIPHER* suite_of(std::uint16_t code) {
  static SSL* const any = SSL_new(SSL_CTX_new(TLS_method()));
  const std::array<unsigned char, 2> bytes = {static_cast<unsigned char>(code >> 8U),
                                              static_cast<unsigned char>(code & 0xffU)};
  return SSL_CIPHER_find(any, bytes.data());
}

}  // namespace

std::optional<TlsSuite> TlsSuite::find(std::uint16_t code) {
  const SSL_CIPHER* cipher = suite_of(code);
  if (cipher == nullptr) return std::nullopt;
  TlsSuite suite;
  suite.cipher = EVP_get_cipherbynid(SSL_CIPHER_get_cipher_nid(cipher));
  suite.hash = SSL_CIPHER_get_handshake_digest(cipher);
  // The suites older than TLS 1.2 use its default there (RFC 5246 section 5).
  if (EVP_MD_is_a(suite.hash, "MD5-SHA1") == 1) suite.hash = EVP_sha256();
  const bool aead = SSL_CIPHER_is_aead(cipher) == 1;
  if (!aead) suite.mac = EVP_get_digestbynid(SSL_CIPHER_get_digest_nid(cipher));
  if (std::string_view(SSL_CIPHER_get_name(cipher)).ends_with("CCM8") ||
      std::string_view(SSL_CIPHER_get_name(cipher)).ends_with("CCM_8_SHA256")) {
    suite.tag_bytes = 8;
  }
  const bool readable =
      suite.cipher != nullptr && suite.hash != nullptr &&
      (aead || (suite.mac != nullptr && EVP_CIPHER_get_mode(suite.cipher) == EVP_CIPH_CBC_MODE));
  return readable ? std::optional(suite) : std::nullopt;
}

void TlsRecordKey::Free::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);
}

TlsRecordKey::TlsRecordKey(const TlsSuite& suite) : suite_(suite), context_(EVP_CIPHER_CTX_new()) {
  assert(context_ != nullptr);
  // Looked up once: a context without a cipher, which there is if this fails, opens nothing.
  EVP_DecryptInit_ex(context_.get(), suite_.cipher, nullptr, nullptr, nullptr);
}

TlsRecordKey TlsRecordKey::tls12(const TlsSuite& suite, const Tls12& secrets, bool of_client) {
  TlsRecordKey key(suite);
  key.encrypt_then_mac_ = secrets.encrypt_then_mac && suite.mac != nullptr;
  const std::size_t mac_bytes =
      suite.mac == nullptr ? 0 : static_cast<std::size_t>(EVP_MD_get_size(suite.mac));
  const bool chacha = EVP_CIPHER_get_nid(suite.cipher) == NID_chacha20_poly1305;
  const std::size_t iv_bytes = suite.mac != nullptr ? 0
                               : chacha             ? kNonceBytes
                                                    : kNonceBytes - kExplicitNonceBytes;
  const std::size_t size = key_bytes(suite);
  const std::string block = prf(suite.hash, secrets, 2 * (mac_bytes + size + iv_bytes));
  // client MAC, server MAC, client key, server key, client IV, server IV
  const std::size_t which = of_client ? 0 : 1;
  key.mac_key_ = block.substr(which * mac_bytes, mac_bytes);
  key.key_ = block.substr(2 * mac_bytes + which * size, size);
  key.iv_ = block.substr(2 * (mac_bytes + size) + which * iv_bytes, iv_bytes);
  return key;
}

TlsRecordKey TlsRecordKey::tls13(const TlsSuite& suite, std::string_view traffic_secret) {
  TlsRecordKey key(suite);
  key.tls13_ = true;
  key.secret_ = traffic_secret;
  key.key_ = expand_label(suite.hash, key.secret_, "key", key_bytes(suite));
  key.iv_ = expand_label(suite.hash, key.secret_, "iv", kNonceBytes);
  return key;
}

std::optional<TlsRecordKey> TlsRecordKey::next() const {
  if (!tls13_) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(EVP_MD_get_size(suite_.hash));
  return tls13(suite_, expand_label(suite_.hash, secret_, "traffic upd", bytes));
}

std::optional<std::size_t> TlsRecordKey::overhead() const {
  if (suite_.mac != nullptr) return std::nullopt;
  if (tls13_) return suite_.tag_bytes + 1;  // the type; padding, which nobody sends, would be more
  return suite_.tag_bytes + (iv_.size() == kNonceBytes ? 0 : kExplicitNonceBytes);
}

std::string TlsRecordKey::nonce(std::string_view explicit_part, std::uint64_t number) const {
  std::string nonce = iv_;
  if (iv_.size() < kNonceBytes) return nonce.append(explicit_part);
  for (std::size_t i = kNonceBytes; number != 0; number >>= 8U) {
    --i;
    nonce[i] = static_cast<char>(static_cast<unsigned char>(nonce[i]) ^ (number & 0xffU));
  }
  return nonce;
}

std::optional<TlsRecordKey::Opened> TlsRecordKey::open(const TlsRecordHeader& header,
                                                       std::string_view fragment,
                                                       std::uint64_t number) {
  if (suite_.mac != nullptr) return open_block(header, fragment, number);
  const std::size_t explicit_bytes = iv_.size() < kNonceBytes ? kExplicitNonceBytes : 0;
  if (fragment.size() < explicit_bytes + suite_.tag_bytes) return std::nullopt;
  const std::string_view explicit_part = fragment.substr(0, explicit_bytes);
  const std::string_view sealed = fragment.substr(explicit_bytes);
  const std::size_t length = tls13_ ? header.length : sealed.size() - suite_.tag_bytes;
  std::string authenticated = tls13_ ? "" : big_endian(number, 8);
  authenticated.push_back(static_cast<char>(header.type));
  authenticated.append(big_endian(header.version, 2)).append(big_endian(length, 2));
  if (!decrypt_aead(nonce(explicit_part, number), authenticated, sealed)) return std::nullopt;
  if (!tls13_) return Opened{static_cast<TlsContent>(header.type), content_};
  // content, type, zeros (RFC 8446 section 5.2)
  const std::size_t type = content_.find_last_not_of('\0');
  if (type == std::string::npos) return std::nullopt;
  return Opened{static_cast<TlsContent>(content_[type]),
                std::string_view(content_).substr(0, type)};
}

bool TlsRecordKey::decrypt_aead(std::string_view nonce,
                                std::string_view authenticated,
                                std::string_view sealed) {
  EVP_CIPHER_CTX* context = context_.get();
  const std::string_view text = sealed.substr(0, sealed.size() - suite_.tag_bytes);
  std::string tag(sealed.substr(text.size()));
  const bool ccm = EVP_CIPHER_get_mode(suite_.cipher) == EVP_CIPH_CCM_MODE;
  content_.resize(text.size());
  int bytes = 0;
  if (EVP_CIPHER_CTX_get0_cipher(context) == nullptr ||
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, size_of(nonce), nullptr) != 1 ||
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, size_of(tag), tag.data()) != 1 ||
      EVP_DecryptInit_ex(context, nullptr, nullptr, in(key_), in(nonce)) != 1) {
    return false;
  }
  // CCM wants to know the length first, and checks the tag at once.
  if (ccm && EVP_DecryptUpdate(context, nullptr, &bytes, nullptr, size_of(text)) != 1) return false;
  if (EVP_DecryptUpdate(context, nullptr, &bytes, in(authenticated), size_of(authenticated)) != 1) {
    return false;
  }
  if (EVP_DecryptUpdate(context, out(content_), &bytes, in(text), size_of(text)) != 1) return false;
  std::array<unsigned char, EVP_MAX_BLOCK_LENGTH> rest{};
  return ccm || EVP_DecryptFinal_ex(context, rest.data(), &bytes) == 1;
}

// RFC 5246 section 6.2.3.2, and RFC 7366 where the MAC is over what is encrypted.
std::optional<TlsRecordKey::Opened> TlsRecordKey::open_block(const TlsRecordHeader& header,
                                                             std::string_view fragment,
                                                             std::uint64_t number) {
  const std::size_t mac_bytes = mac_key_.size();
  std::string authenticated = big_endian(number, 8);
  authenticated.push_back(static_cast<char>(header.type));
  authenticated.append(big_endian(header.version, 2));
  if (encrypt_then_mac_) {
    if (fragment.size() < mac_bytes) return std::nullopt;
    const std::string_view mac = fragment.substr(fragment.size() - mac_bytes);
    fragment.remove_suffix(mac_bytes);
    authenticated.append(big_endian(fragment.size(), 2)).append(fragment);
    if (!mac_matches(authenticated, mac)) return std::nullopt;
  }
  if (!decrypt_blocks(fragment) || content_.empty()) return std::nullopt;
  const std::size_t padding = static_cast<unsigned char>(content_.back()) + std::size_t{1};
  if (content_.size() < padding + (encrypt_then_mac_ ? 0 : mac_bytes)) return std::nullopt;
  content_.resize(content_.size() - padding);
  if (!encrypt_then_mac_) {
    const std::string mac = content_.substr(content_.size() - mac_bytes);
    content_.resize(content_.size() - mac_bytes);
    authenticated.append(big_endian(content_.size(), 2)).append(content_);
    if (!mac_matches(authenticated, mac)) return std::nullopt;
  }
  return Opened{static_cast<TlsContent>(header.type), content_};
}

// The IV comes first (TLS 1.1 and later).
bool TlsRecordKey::decrypt_blocks(std::string_view fragment) {
  const auto block = static_cast<std::size_t>(EVP_CIPHER_get_block_size(suite_.cipher));
  if (fragment.size() < 2 * block || fragment.size() % block != 0) return false;
  const std::string_view text = fragment.substr(block);
  content_.resize(text.size() + block);
  int bytes = 0;
  EVP_CIPHER_CTX* context = context_.get();
  const bool done = EVP_DecryptInit_ex(context, nullptr, nullptr, in(key_), in(fragment)) == 1 &&
                    EVP_CIPHER_CTX_set_padding(context, 0) == 1 &&
                    EVP_DecryptUpdate(context, out(content_), &bytes, in(text), size_of(text)) == 1;
  content_.resize(done ? text.size() : 0);
  return done && bytes == size_of(text);
}

bool TlsRecordKey::mac_matches(std::string_view authenticated, std::string_view mac) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> expected{};
  unsigned size = 0;
  HMAC(suite_.mac, mac_key_.data(), size_of(mac_key_), in(authenticated), authenticated.size(),
       expected.data(), &size);
  return mac.size() == size && CRYPTO_memcmp(expected.data(), mac.data(), size) == 0;
}

}  // namespace gatedrill::replay::capture
