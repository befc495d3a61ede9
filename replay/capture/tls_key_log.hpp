// The secrets of TLS connections, as clients and servers write them where SSLKEYLOGFILE says:
//
//   CLIENT_RANDOM <32 bytes of the ClientHello> <master secret>             TLS 1.2
//   CLIENT_TRAFFIC_SECRET_0 <32 bytes of the ClientHello> <traffic secret>  TLS 1.3, and others
//
// all in hex, a line each, `#` begins a comment. Secrets may be added while a capture runs: the
// peers write them during the handshake, which the packets may overtake.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::replay::capture {

// What one connection may have in the log; empty where it has not.
struct TlsSecrets {
  std::string master;        // TLS 1.2
  std::string client_early;  // TLS 1.3
  std::string client_handshake;
  std::string server_handshake;
  std::string client_traffic;
  std::string server_traffic;
};

// Somebody who misses a secret.
class KeyWaiter {
 public:
  KeyWaiter() = default;
  KeyWaiter(const KeyWaiter&) = delete;
  KeyWaiter& operator=(const KeyWaiter&) = delete;

  // Some have come. False if it waits no more.
  virtual bool on_more_keys() = 0;

 protected:
  ~KeyWaiter() = default;
};

class KeyLog {
 public:
  struct Added {
    std::size_t bad_lines = 0;
    std::size_t first_bad_line = 0;  // counted from 1 in this text
  };

  // Whole lines of a log; the last may lack its line end. Labels that are of no use here are left
  // out.
  Added add(std::string_view text);

  // Nothing if the log does not have this ClientHello's random. Lives until the next `add`.
  [[nodiscard]] const TlsSecrets* find(std::string_view client_random) const;

  [[nodiscard]] std::size_t connections() const { return secrets_.size(); }

  // Grows whenever secrets come: who missed one looks again.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  // Whether waiting for a secret makes sense.
  [[nodiscard]] bool may_grow() const { return may_grow_; }

  void expect_more(bool may_grow) { may_grow_ = may_grow; }

  // `refill` adds what the log has got since; it is called when a secret is missed, and outlives
  // all who may miss one.
  void follow(std::function<void()> refill) {
    refill_ = std::move(refill);
    may_grow_ = true;
  }

  void look_again() {
    if (refill_) refill_();
  }

  // The same, for those who ask at every packet: most of the time it does nothing.
  void look_again(UnixTime at);

  // `waiter` hears of what comes (in `serve_waiting`), until it leaves.
  void wait(KeyWaiter& waiter) { waiting_.insert(&waiter); }

  void leave(KeyWaiter& waiter) { waiting_.erase(&waiter); }

  // Looks again, if anybody waits, and tells them what has come.
  void serve_waiting(UnixTime at);

 private:
  std::unordered_map<std::string, TlsSecrets> secrets_;
  std::uint64_t version_ = 0;
  bool may_grow_ = false;
  std::function<void()> refill_;
  UnixTime looked_{};
  std::unordered_set<KeyWaiter*> waiting_;
  std::uint64_t told_ = 0;  // the version
};

// Reads a key log's file and follows it while somebody writes it. Once open, it stays so: whoever
// gives up privileges keeps what they let him read.
class KeyLogFile {
 public:
  explicit KeyLogFile(std::string path) : path_(std::move(path)) {}

  // Whether it is open; tries to if it is not yet. False if there is no such file so far. Fails
  // (outside) if it is unreadable, (usage) if it is a directory.
  Result<bool> open();

  // What is new since the last call, up to the last whole line; with `to_end`, all of it. Fails as
  // `open`, (outside) if the file is missing, (usage) at a line that is none of a key log.
  Result<void> read_into(KeyLog& log, bool to_end);

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t offset_ = 0;
  std::size_t lines_ = 0;
};

}  // namespace gatedrill::replay::capture
