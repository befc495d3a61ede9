// A fuzz input as what happens on a connection: pieces of data from either side, gaps, ends.
//
// Each step is a byte that says what and from whom, then a length where it has one, then the bytes.
#pragma once

#include <algorithm>
#include <string_view>

#include "replay/capture/exchange_recorder.hpp"
#include "tests/fuzz/choices.hpp"

namespace gatedrill::fuzz {

class Sink final : public replay::capture::ExchangeSink {
 public:
  void on_exchange(replay::RecordedExchange) override { ++exchanges; }

  void on_connection(const replay::RecordedConnection&) override {}

  void on_loss(const replay::RecordedLoss&) override {}

  std::size_t exchanges = 0;
};

// Counts for a reader what reassembly counts.
class Ledgered {
 public:
  Ledgered(replay::capture::StreamReader& reader, replay::capture::Ledger& ledger)
      : reader_(reader), ledger_(ledger) {}

  void data(replay::capture::Side from, std::string_view bytes) {
    if (bytes.empty()) return;
    had_data_ = true;
    ledger_.stream.add(bytes.size());
    ledger_.delivered.add(bytes.size());
    reader_.on_data(from, bytes, next());
  }

  void gap(replay::capture::Side from, std::uint64_t bytes) {
    reader_.on_gap(from, bytes, replay::capture::LossReason::gap, next());
  }

  void end(replay::capture::Side from) { reader_.on_end(from, next()); }

  void close(replay::capture::CloseKind how) {
    replay::capture::ConnectionEnd end;
    end.how = how;
    end.had_data = had_data_;
    reader_.on_closed(end, next());
  }

 private:
  UnixTime next() { return UnixTime{++now_}; }

  replay::capture::StreamReader& reader_;
  replay::capture::Ledger& ledger_;
  std::int64_t now_ = 0;
  bool had_data_ = false;
};

// All of it, and the close.
inline void play(Choices& choices, Ledgered& reader) {
  using replay::capture::CloseKind;
  using replay::capture::Side;
  constexpr std::uint8_t kServer = 0x80;
  constexpr std::uint8_t kGap = 0x40;
  constexpr std::uint8_t kEnd = 0x20;
  constexpr std::uint8_t kLong = 0x10;  // the length has two bytes
  while (!choices.empty()) {
    const std::uint8_t what = choices.byte();
    const Side from = (what & kServer) != 0 ? Side::second : Side::first;
    if ((what & kEnd) != 0) {
      reader.end(from);
      continue;
    }
    std::size_t length = choices.byte();
    if ((what & kLong) != 0) length = length * 256 + choices.byte();
    if ((what & kGap) != 0) {
      if (length > 0) reader.gap(from, length);
      continue;
    }
    reader.data(from, choices.take(length));
  }
  reader.close(CloseKind::fin);
}

}  // namespace gatedrill::fuzz
