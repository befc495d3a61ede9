// Reads TLS 1.2 and 1.3 with the secrets of a key log, and hands what is inside on. Stands before
// the reader of what it carries; a connection that is no TLS passes through. Pure.
//
//   deciding ──a ClientHello──► hellos ──key found──► open ──► inner reader
//      │                          │  └──not yet──► waiting ──key comes──┘
//      └─ no TLS: plain           └── no key, unknown suite, beginning lost: closed, and counted
//
// - A record says by itself which key and number it belongs to: it only opens with these. So the
//   changes of keys (end of the handshake, KeyUpdate) need no bookkeeping, and after a gap the
//   number is found by trying, within bounds.
// - The time of what is inside a record is that of the segment which completes it: nobody could
// read
//   it earlier. Its place in the stream is that of the record.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/capture/http_assembly.hpp"
#include "replay/capture/tcp_reassembly.hpp"
#include "replay/capture/tls_cipher.hpp"
#include "replay/capture/tls_handshake.hpp"
#include "replay/capture/tls_key_log.hpp"

namespace gatedrill::replay::capture {

class TlsReader final : public StreamReader {
 public:
  // `context` and `keys` outlive this object.
  TlsReader(const ConnectionStart& start,
            HttpContext& context,
            const KeyLog& keys,
            OpenStream open_inner);
  ~TlsReader() override;

  void on_data(Side from, std::string_view bytes, UnixTime at) override;
  void on_gap(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) override;
  void on_end(Side from, UnixTime at) override;
  void on_closed(const ConnectionEnd& end, UnixTime at) override;

 private:
  enum class Phase : std::uint8_t { deciding, plain, open, waiting, closed };

  // What came before it could be read.
  struct Event {
    enum class Kind : std::uint8_t { data, gap, end };
    Kind kind = Kind::data;
    Side from = Side::first;
    std::string bytes{};
    std::uint64_t gap_bytes = 0;
    LossReason reason = LossReason::gap;
    UnixTime at{};
    TcpFacts::Delivery delivery{};
  };

  // Bytes of one direction that were not opened, by reason.
  struct Unread {
    LossReason reason = LossReason::no_key;
    std::uint64_t bytes = 0;
    UnixTime at{};
  };

  struct Direction {
    std::string held;              // the beginning of a record
    std::uint64_t skip = 0;        // the rest of a record that a gap broke
    bool seeking = false;          // where the next record begins is not known
    bool dead = false;             // it will not be found any more
    bool told = false;             // while seeking: the reader inside knows of the gap
    std::uint64_t lost_bytes = 0;  // while seeking
    UnixTime lost_at{};
    LossReason lost_by = LossReason::gap;
    TlsHandshakeReader handshake{};
    std::optional<TlsRecordKey> key{};  // none: in clear
    std::deque<TlsRecordKey> coming{};  // what it may change to
    std::uint64_t number = 0;           // of the next record under `key`
    std::uint64_t slack = 0;            // how many records may be missing before it
    int failures = 0;                   // records in a row that did not open
    std::vector<Unread> unread{};
  };

  Direction& direction(Side side) { return directions_[static_cast<std::size_t>(side)]; }

  void decide();
  void become(Phase phase);
  void replay(std::vector<Event> events);
  void wait(Event event);
  void close_unread(LossReason reason);
  void take(Side from, std::string_view bytes, UnixTime at);
  // Each returns how much it consumed; nothing if it needs more.
  std::size_t read_records(Side from, std::string_view bytes, UnixTime at);
  std::size_t read_record(Side from, std::string_view bytes, UnixTime at);
  void place_record(std::size_t bytes_before_end, std::size_t record_bytes);
  std::size_t seek_record(Side from, std::string_view bytes, UnixTime at);
  void begin_seeking(Direction& d, std::uint64_t missing, LossReason reason, UnixTime at);
  void clear_record(Side from, TlsContent type, std::string_view fragment, UnixTime at);
  void sealed_record(Side from,
                     const TlsRecordHeader& header,
                     std::string_view fragment,
                     UnixTime at);
  std::optional<TlsRecordKey::Opened> open(Direction& d,
                                           const TlsRecordHeader& header,
                                           std::string_view fragment);
  void use(Side from, const TlsRecordKey::Opened& opened, std::size_t record_bytes, UnixTime at);
  void read_handshake(Side from, std::string_view bytes, UnixTime at);
  void change_cipher(Direction& d);
  void derive_keys();
  void tell_lost_record(Side from, std::size_t fragment_bytes, LossReason reason, UnixTime at);
  void tell_sought(Side from, std::optional<std::uint64_t> bytes);
  void tell_gap(Side from, std::optional<std::uint64_t> bytes, LossReason reason, UnixTime at);
  void unread(Side from, std::uint64_t bytes, LossReason reason, UnixTime at);
  void tell_unread();
  [[nodiscard]] Event event(Event::Kind kind, Side from, UnixTime at) const;
  void charge();

  ConnectionStart start_;
  HttpContext& context_;
  const KeyLog& keys_;
  OpenStream open_inner_;
  std::unique_ptr<StreamReader> inner_;  // once it is known whether it is TLS
  TcpFacts facts_{};                     // for what is inside: its deliveries are records
  Phase phase_ = Phase::deciding;
  LossReason closed_by_ = LossReason::no_key;
  std::vector<Event> events_;
  TcpFacts::Delivery delivery_{};  // of what is being read
  std::array<Direction, 2> directions_;
  Side client_ = Side::first;
  std::string client_random_;
  std::optional<TlsServerHello> hello_;
  std::uint64_t keys_seen_ = 0;  // the version of the key log that was looked at
  std::uint64_t trial_bytes_ = 0;
  std::size_t charged_ = 0;
};

}  // namespace gatedrill::replay::capture
