// The server behind a proxy under test: it keeps every request that the proxy makes of an input,
// and answers as the input's script says. Proxies keep connections to it; between two inputs it
// ends them all, so that no input sees what another has left.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "tests/differential/input.hpp"
#include "tests/differential/message.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::differential {

class RecordingOrigin {
 public:
  RecordingOrigin();

  [[nodiscard]] std::uint16_t port() const { return peer_.port(); }

  void begin(const OriginScript& script, Sending sending = Sending::whole);
  // Ends all connections, waits for the proxy to do the same and returns what came, in the order
  // in which it was complete; what never was comes last.
  [[nodiscard]] std::vector<Message> end();

 private:
  void serve(testing::PeerSocket& peer);
  OriginScript::Answer record(const Message& request);
  bool answer(testing::PeerSocket& peer, const OriginScript::Answer& answer);

  std::mutex mutex_;
  std::condition_variable changed_;
  OriginScript script_;
  Sending sending_ = Sending::whole;
  std::vector<Message> requests_;
  std::list<testing::PeerSocket*> open_;
  int served_ = 0;              // connections whose script has begun
  testing::ScriptedPeer peer_;  // the last: its threads use the others
};

}  // namespace gatedrill::differential
