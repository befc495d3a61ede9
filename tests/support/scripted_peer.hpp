// A server on loopback that does what a test's script says, each connection in a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/loopback_peer.hpp"

namespace gatedrill::testing {

class ScriptedPeer {
 public:
  // `connection` counts from 0. The script runs on the connection's thread; the connection is
  // closed when it returns.
  using Script = std::function<void(PeerSocket& peer, int connection)>;

  explicit ScriptedPeer(Script script);
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;
  // Wakes every script that reads, and waits for all of them.
  ~ScriptedPeer();

  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }

  [[nodiscard]] int connections() const { return connections_; }

 private:
  void serve();

  Script script_;
  LoopbackListener listener_;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::list<PeerSocket> peers_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// Answers every request 200 with `body`, until the client closes.
[[nodiscard]] ScriptedPeer::Script always_answer(std::string body);

[[nodiscard]] std::string answer_of(int status, const std::string& body);

}  // namespace gatedrill::testing
