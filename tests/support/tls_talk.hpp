// A TLS connection between a client and a server of this process, OpenSSL's both: its bytes go into
// a Conversation as if they had been captured, its secrets into a key log.
//
//   Conversation talk;
//   talk.handshake();
//   TlsTalk tls(talk, {.version = TLS1_2_VERSION});
//   tls.client("GET / HTTP/1.1\r\n\r\n");
//   tls.server("HTTP/1.1 204 No Content\r\n\r\n");
//   tls.key_log() ...
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "tests/support/pcap_builder.hpp"

namespace gatedrill::tests {

class TlsTalk {
 public:
  struct Options {
    int version = TLS1_3_VERSION;
    std::string suite{};  // as OpenSSL names it; empty: its choice
    bool encrypt_then_mac = true;
    bool retry = false;  // TLS 1.3: the server asks for another key share
    std::string alpn{};  // that both agree on
    std::shared_ptr<SSL_SESSION> resumed{};
    std::string early_data{};  // sent with the hello; needs a resumed session
    bool take_early_data = true;
  };

  // Does the handshake.
  TlsTalk(Conversation& talk, Options options);

  explicit TlsTalk(Conversation& talk) : TlsTalk(talk, Options{}) {}

  void client(std::string_view text) { send(true, text); }

  void server(std::string_view text) { send(false, text); }

  // TLS 1.3: new keys for what this side sends, and for the other side too if asked to.
  void update_keys(bool of_client, bool both);

  void close_notify(bool by_client);

  [[nodiscard]] const std::string& key_log() const { return key_log_; }

  [[nodiscard]] std::string suite() const;

  // To resume it in another connection.
  [[nodiscard]] std::shared_ptr<SSL_SESSION> session() const;

  [[nodiscard]] bool resumed() const;

  [[nodiscard]] bool early_data_taken() const;

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  using Ssl = std::unique_ptr<SSL, Free>;

  void send(bool from_client, std::string_view text);
  // Moves what each side has written to the other, through the conversation. False: nothing to
  // move.
  bool move(bool from_client);
  void settle();
  void send_early(const Options& options);
  void read_early();

  Conversation& talk_;
  std::string key_log_;
  Ssl client_;
  Ssl server_;
  bool server_reads_early_ = false;
};

}  // namespace gatedrill::tests
