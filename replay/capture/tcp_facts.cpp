#include "replay/capture/tcp_facts.hpp"

namespace gatedrill::replay::capture {

void describe(const TcpFacts& facts, Side client, RecordedConnection& connection) {
  if (facts.syns > 0 || facts.answered) {
    connection.connect = facts.answered ? "established" : facts.refused ? "refused" : "unanswered";
  }
  connection.syns = facts.syns;
  connection.answered = facts.answered;
  connection.established = facts.established;
  connection.client_side = facts.side(client);
  connection.server_side = facts.side(other(client));
}

}  // namespace gatedrill::replay::capture
