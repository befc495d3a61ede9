// What a capture makes of frames, gathered in lists, for tests.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/capture/capture.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::tests {

class Captured final : public replay::capture::ExchangeSink {
 public:
  void on_exchange(replay::RecordedExchange exchange) override {
    exchanges.push_back(std::move(exchange));
  }

  void on_connection(const replay::RecordedConnection& connection) override {
    connections.push_back(connection);
  }

  void on_loss(const replay::RecordedLoss& loss) override { losses.push_back(loss); }

  // "GET /a > 200 body", one a line: what pairs with what. Partial messages end in "...".
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const replay::RecordedExchange& exchange : exchanges) {
      if (exchange.request) {
        out += exchange.request->method + " " + exchange.request->target;
        if (!exchange.request->body.empty()) out += " " + exchange.request->body;
        if (!exchange.request->complete) out += "...";
      }
      out += " > ";
      if (exchange.response) {
        out += std::to_string(exchange.response->status);
        if (!exchange.response->body.empty()) out += " " + exchange.response->body;
        if (!exchange.response->complete) out += "...";
      }
      out += "\n";
    }
    return out;
  }

  std::vector<replay::RecordedExchange> exchanges;
  std::vector<replay::RecordedConnection> connections;
  std::vector<replay::RecordedLoss> losses;
  replay::capture::Ledger ledger;
};

// As a source would give it; lives as long as the frame.
inline replay::capture::Packet packet_of(const Frame& frame) {
  return {frame.at, frame.bytes, frame.wire(), frame.link_type};
}

inline void capture_into(Captured& captured,
                         const std::vector<Frame>& frames,
                         const replay::capture::CaptureOptions& options = {}) {
  replay::capture::Capture capture(options, captured);
  for (const Frame& frame : frames)
    capture.add(packet_of(frame));
  capture.finish();
  captured.ledger = capture.ledger();
}

// The same, and the account closes, whatever the frames are.
inline void run(const std::vector<Frame>& frames,
                Captured& into,
                const replay::capture::CaptureOptions& options = {}) {
  capture_into(into, frames, options);
  EXPECT_THAT(into.ledger.open_sums(), ::testing::IsEmpty());
}

// All but one.
inline std::vector<Frame> without(const std::vector<Frame>& frames, std::size_t lost) {
  std::vector<Frame> others = frames;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(lost));
  return others;
}

inline std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: shop\r\n" + fields + "\r\n";
}

inline std::string ok(const std::string& body, const std::string& fields = "") {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + fields +
         "\r\n" + body;
}

inline std::string text_of(const std::vector<Frame>& frames) {
  Captured all;
  run(frames, all);
  return all.text();
}

}  // namespace gatedrill::tests
