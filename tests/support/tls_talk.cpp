#include "tests/support/tls_talk.hpp"

#include <array>
#include <stdexcept>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

namespace gatedrill::tests {
namespace {

void must(bool good, const char* what) {
  if (good) return;
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  throw std::runtime_error(std::string(what) + ": " + text.data());
}

struct Identity {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();

  Identity() {
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    must(X509_sign(certificate, key, EVP_sha256()) > 0, "sign");
  }
};

const Identity& identity() {
  static const Identity kIdentity;
  return kIdentity;
}

void append_key(const SSL* ssl, const char* line) {
  auto* log = static_cast<std::string*>(SSL_get_app_data(ssl));
  log->append(line).push_back('\n');
}

// Sessions resume only under the context that made them.
SSL_CTX* context_of(bool client) {
  const auto make = [](bool of_client) {
    SSL_CTX* context = SSL_CTX_new(of_client ? TLS_client_method() : TLS_server_method());
    must(SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0") == 1, "ciphers");
    if (of_client) {
      SSL_CTX_set_keylog_callback(context, append_key);
      SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT);
      return context;
    }
    must(SSL_CTX_use_certificate(context, identity().certificate) == 1, "certificate");
    must(SSL_CTX_use_PrivateKey(context, identity().key) == 1, "key");
    SSL_CTX_set_max_early_data(context, 16'384);
    SSL_CTX_set_alpn_select_cb(
        context,
        [](SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
           unsigned, void*) {
          *size = offered[0];
          *chosen = offered + 1;
          return SSL_TLSEXT_ERR_OK;
        },
        nullptr);
    return context;
  };
  static SSL_CTX* const server_context = make(false);
  static SSL_CTX* const client_context = make(true);
  return client ? client_context : server_context;
}

}  // namespace

TlsTalk::TlsTalk(Conversation& talk, Options options)
    : talk_(talk), client_(SSL_new(context_of(true))), server_(SSL_new(context_of(false))) {
  for (SSL* ssl : {client_.get(), server_.get()}) {
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_security_level(ssl, 0);
    SSL_set_min_proto_version(ssl, options.version);
    SSL_set_max_proto_version(ssl, options.version);
    if (!options.encrypt_then_mac) SSL_set_options(ssl, SSL_OP_NO_ENCRYPT_THEN_MAC);
    if (options.suite.empty()) continue;
    must(options.version == TLS1_3_VERSION
             ? SSL_set_ciphersuites(ssl, options.suite.c_str()) == 1
             : SSL_set_cipher_list(ssl, (options.suite + ":@SECLEVEL=0").c_str()) == 1,
         options.suite.c_str());
  }
  SSL_set_app_data(client_.get(), &key_log_);
  if (options.retry) {
    must(SSL_set1_groups_list(client_.get(), "P-256:P-384") == 1, "groups");
    must(SSL_set1_groups_list(server_.get(), "P-384") == 1, "groups");
  }
  if (!options.alpn.empty()) {
    std::string list(1, static_cast<char>(options.alpn.size()));
    list += options.alpn;
    SSL_set_alpn_protos(client_.get(), reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  if (options.resumed) SSL_set_session(client_.get(), options.resumed.get());
  SSL_set_connect_state(client_.get());
  SSL_set_accept_state(server_.get());
  if (!options.early_data.empty()) send_early(options);
  settle();
  must(SSL_is_init_finished(client_.get()) == 1 && SSL_is_init_finished(server_.get()) == 1,
       "handshake");
}

void TlsTalk::send_early(const Options& options) {
  std::size_t bytes = 0;
  must(SSL_write_early_data(client_.get(), options.early_data.data(), options.early_data.size(),
                            &bytes) == 1,
       "early data");
  move(true);
  server_reads_early_ = options.take_early_data;
}

void TlsTalk::read_early() {
  std::array<char, 20'000> buffer{};
  std::size_t bytes = 0;
  int read = SSL_READ_EARLY_DATA_SUCCESS;
  while (read == SSL_READ_EARLY_DATA_SUCCESS)
    read = SSL_read_early_data(server_.get(), buffer.data(), buffer.size(), &bytes);
  server_reads_early_ = read != SSL_READ_EARLY_DATA_FINISH;
}

bool TlsTalk::early_data_taken() const {
  return SSL_get_early_data_status(client_.get()) == SSL_EARLY_DATA_ACCEPTED;
}

bool TlsTalk::move(bool from_client) {
  BIO* from = SSL_get_wbio(from_client ? client_.get() : server_.get());
  BIO* to = SSL_get_rbio(from_client ? server_.get() : client_.get());
  std::string bytes(BIO_ctrl_pending(from), '\0');
  if (bytes.empty()) return false;
  BIO_read(from, bytes.data(), static_cast<int>(bytes.size()));
  BIO_write(to, bytes.data(), static_cast<int>(bytes.size()));
  if (from_client) {
    talk_.client(bytes);
  } else {
    talk_.server(bytes);
  }
  return true;
}

// Each side reads, which also does the handshake, until both are silent.
void TlsTalk::settle() {
  bool busy = true;
  while (busy) {
    busy = false;
    for (const bool of_client : {true, false}) {
      SSL* ssl = of_client ? client_.get() : server_.get();
      std::array<char, 20'000> buffer{};
      ERR_clear_error();
      if (!of_client && server_reads_early_) {
        read_early();
      } else {
        SSL_do_handshake(ssl);
        while (SSL_read(ssl, buffer.data(), static_cast<int>(buffer.size())) > 0) {
        }
      }
      busy = move(of_client) || busy;
    }
  }
}

void TlsTalk::send(bool from_client, std::string_view text) {
  SSL* ssl = from_client ? client_.get() : server_.get();
  must(SSL_write(ssl, text.data(), static_cast<int>(text.size())) > 0, "write");
  move(from_client);
  settle();
}

void TlsTalk::update_keys(bool of_client, bool both) {
  SSL* ssl = of_client ? client_.get() : server_.get();
  must(SSL_key_update(ssl, both ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED) == 1,
       "key update");
  must(SSL_do_handshake(ssl) == 1, "key update");
  move(of_client);
  settle();
}

void TlsTalk::close_notify(bool by_client) {
  SSL_shutdown(by_client ? client_.get() : server_.get());
  move(by_client);
}

std::string TlsTalk::suite() const {
  return SSL_get_cipher_name(client_.get());
}

std::shared_ptr<SSL_SESSION> TlsTalk::session() const {
  return {SSL_get1_session(client_.get()), SSL_SESSION_free};
}

bool TlsTalk::resumed() const {
  return SSL_session_reused(client_.get()) == 1;
}

}  // namespace gatedrill::tests
