// Reads TLS 1.2 and 1.3 with the secrets of a key log, and hands what is inside on. Stands before
// the reader of what it carries; a connection that is no TLS passes through. Pure.
//
//   deciding ──a ClientHello──► hellos ──key found──► open ──► inner reader
//      │                          │  └──not yet──► waiting ──key comes──┘
//      └─ no TLS: plain           └── no key, unknown suite, beginning lost: closed, and counted
//
// - The time of what is inside a record is that of the segment which completes it: nobody could
// read
//   it earlier. Its place in the stream is that of the record.
// - Early data (0-RTT) counts once the server has said that it takes it; refused, the client sends
// it
//   again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/capture/exchange_recorder.hpp"
#include "replay/capture/tcp_reassembly.hpp"
#include "replay/capture/tls_handshake.hpp"
#include "replay/capture/tls_key_log.hpp"
#include "replay/capture/tls_records.hpp"

namespace gatedrill::replay::capture {

class TlsReader final : public StreamReader, private TlsRecordListener, private KeyWaiter {
 public:
  // `context` and `keys` outlive this object.
  TlsReader(const ConnectionStart& start,
            HttpContext& context,
            KeyLog& keys,
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

  // A client's record from before it is known whether the server takes early data.
  struct EarlyRecord {
    TlsRecordHeader header{};
    std::string fragment{};
    UnixTime at{};
    TcpFacts::Delivery delivery{};
  };

  // Bytes of one direction that were not opened, by reason.
  struct Unread {
    LossReason reason = LossReason::no_key;
    std::uint64_t bytes = 0;
    UnixTime at{};
  };

  void on_record(std::size_t before_end, std::size_t record_bytes) override;
  void on_clear(Side from, TlsContent type, std::string_view fragment, UnixTime at) override;
  bool takes_sealed(Side from,
                    const TlsRecordHeader& header,
                    std::string_view fragment,
                    UnixTime at) override;
  void on_opened(Side from,
                 const TlsRecordKey::Opened& opened,
                 std::size_t record_bytes,
                 UnixTime at) override;
  void on_lost(Side from, const TlsLoss& loss) override;
  void on_unread(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) override;
  void on_hopeless() override;
  bool on_more_keys() override;

  TlsRecordStream& records(Side side) { return side == Side::first ? first_ : second_; }

  [[nodiscard]] Event event(Event::Kind kind, Side from, UnixTime at) const;
  void keep(Event event);
  void replay_kept();
  void decide();
  void become(Phase phase);
  void look_for_keys();
  void go_on();
  void close_unread(LossReason reason);
  void read_handshake(Side from, std::string_view bytes);
  void on_server_hello(const TlsServerHello& hello);
  void derive_keys();
  void decide_early_data(bool accepted);
  void tell_unread();
  void settle();
  void drop_held();

  ConnectionStart start_;
  HttpContext& context_;
  KeyLog& keys_;
  OpenStream open_inner_;
  std::unique_ptr<StreamReader> inner_;  // once it is known whether it is TLS
  Phase phase_ = Phase::deciding;
  LossReason closed_by_ = LossReason::no_key;
  bool handed_on_ = false;  // something, to the reader inside

  std::vector<Event> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t charged_ = 0;  // to the context

  TlsRecordStream first_;
  TlsRecordStream second_;
  TcpFacts facts_{};                             // for what is inside: its deliveries are records
  TcpFacts::Delivery delivery_{};                // of the bytes that are being read
  std::array<std::vector<Unread>, 2> unread_{};  // by Side

  std::array<TlsHandshakeReader, 2> handshakes_{};
  Side client_ = Side::first;
  std::string client_random_;
  std::optional<TlsServerHello> hello_;
  UnixTime hello_at_{};
  std::uint64_t keys_seen_ = 0;  // the version of the key log that was looked at
  bool early_waits_ = false;
  std::vector<EarlyRecord> early_;
  std::size_t early_bytes_ = 0;
};

}  // namespace gatedrill::replay::capture
