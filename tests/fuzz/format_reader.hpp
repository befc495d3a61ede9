// For the targets of file formats: what a reader may do with any bytes, gathered and bounded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replay/formats/format.hpp"
#include "tests/fuzz/require.hpp"

namespace gatedrill::fuzz {

class ReadExchanges final : public replay::formats::ImportSink {
 public:
  void on_exchange(replay::RecordedExchange exchange) override {
    require(exchange.request || exchange.response, "an exchange has a message");
    require(!exchange.request || !exchange.request->method.empty(), "a request has a method");
    require(exchange.connection != 0, "an exchange has a connection");
    exchanges.push_back(std::move(exchange));
  }

  void on_connection(const replay::RecordedConnection& /*connection*/) override {}

  void on_loss(const replay::formats::ImportLoss& loss) override {
    require(!loss.place.empty() && !loss.reason.empty(), "a loss has a place and a reason");
    ++losses;
  }

  void count(std::string_view what, std::uint64_t /*bytes*/, std::string_view /*note*/) override {
    require(!what.empty(), "a count has a name");
  }

  void on_ledger_line(const replay::LedgerLine& /*line*/) override {}

  void on_recorded_loss(const replay::RecordedLoss& /*loss*/) override {}

  [[nodiscard]] bool stopped() const override { return false; }

  std::vector<replay::RecordedExchange> exchanges;
  std::size_t losses = 0;
};

// True if the reader took the file; a refusal says where.
inline bool read_bytes(const replay::formats::Format& format,
                       std::string_view bytes,
                       ReadExchanges& read) {
  std::vector<replay::formats::Input> inputs;
  inputs.push_back(replay::formats::Input::from_bytes(std::string(bytes), "f"));
  const auto done = format.read(inputs, read);
  require(done || done.error().message.starts_with("f:"), "a refusal names the file");
  require(read.exchanges.size() + read.losses <= bytes.size(), "what is found was there");
  return static_cast<bool>(done);
}

}  // namespace gatedrill::fuzz
