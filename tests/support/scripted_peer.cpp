#include "tests/support/scripted_peer.hpp"

#include <utility>

namespace gatedrill::testing {

ScriptedPeer::ScriptedPeer(Script script)
    : script_(std::move(script)), acceptor_([this] { serve(); }) {}

ScriptedPeer::~ScriptedPeer() {
  listener_.shut_down();
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (PeerSocket& peer : peers_)
      peer.shut_down();
  }
  for (std::thread& thread : threads_)
    thread.join();
}

void ScriptedPeer::serve() {
  while (true) {
    PeerSocket accepted = listener_.accept();
    if (!accepted.is_open()) return;
    const std::lock_guard lock(mutex_);
    PeerSocket& peer = peers_.emplace_back(std::move(accepted));
    threads_.emplace_back([this, &peer, connection = connections_++] {
      script_(peer, connection);
      const std::lock_guard closing(mutex_);
      peer.close();
    });
  }
}

std::string answer_of(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Status\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

ScriptedPeer::Script always_answer(std::string body) {
  return [answer = answer_of(200, body)](PeerSocket& peer, int) {
    while (!peer.read_request().empty())
      peer.send(answer);
  };
}

}  // namespace gatedrill::testing
