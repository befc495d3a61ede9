// Holds the account to its word that nothing is lost without a reason: a message that is not whole
// must have a loss of its connection and direction that was said before it. Passes everything on.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "replay/capture/http_assembly.hpp"
#include "replay/capture/ledger.hpp"

namespace gatedrill::replay::capture {

class ReasonedSink final : public ExchangeSink {
 public:
  // Both outlive this object.
  ReasonedSink(ExchangeSink& next, Ledger& ledger) : next_(next), ledger_(ledger) {}

  void on_exchange(RecordedExchange exchange) override {
    const auto check = [&](const auto& message, bool request) {
      if (message && !message->complete && !lost_.contains(key(exchange.connection, request))) {
        ++ledger_.partial_without_reason;
      }
    };
    check(exchange.request, true);
    check(exchange.response, false);
    next_.on_exchange(std::move(exchange));
  }

  void on_connection(const RecordedConnection& connection) override {
    lost_.erase(key(connection.connection, true));
    lost_.erase(key(connection.connection, false));
    next_.on_connection(connection);
  }

  void on_loss(const RecordedLoss& loss) override {
    lost_.insert(key(loss.connection, loss.direction == "request"));
    next_.on_loss(loss);
  }

 private:
  static std::int64_t key(std::int64_t connection, bool request) {
    return connection * 2 + (request ? 1 : 0);
  }

  ExchangeSink& next_;
  Ledger& ledger_;
  std::unordered_set<std::int64_t> lost_;  // directions of open connections
};

}  // namespace gatedrill::replay::capture
