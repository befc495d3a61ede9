// Pairs the HTTP/1 requests and answers of one connection into exchanges. Pure.
//
//   on_data ─► which side is the client? ─► MessageStream (requests) ─┐
//                    │                      MessageStream (answers) ──┴─► slots ─► ExchangeSink
//                    └─► not HTTP/1: counted as what it is, and dropped
//
// A slot is a request that waits for its answer; answers come in the order of the requests. After
// a loss that makes the order doubtful nothing is paired any more: a missing pair can be told, a
// wrong one cannot.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <string>

#include "replay/capture/message_stream.hpp"
#include "replay/capture/tcp_reassembly.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay::capture {

class ExchangeSink {
 public:
  ExchangeSink() = default;
  ExchangeSink(const ExchangeSink&) = delete;
  ExchangeSink& operator=(const ExchangeSink&) = delete;
  virtual ~ExchangeSink() = default;
  virtual void on_exchange(RecordedExchange exchange) = 0;
  virtual void on_connection(const RecordedConnection& connection) = 0;
  virtual void on_loss(const RecordedLoss& loss) = 0;
};

struct HttpLimits {
  std::size_t body_bytes = 16U * 1024U * 1024U;   // kept of one message
  std::size_t total_bytes = 64U * 1024U * 1024U;  // of all unfinished messages
  std::size_t held_bytes = 32U * 1024U * 1024U;   // of all unfinished heads
  std::size_t outstanding = 1000;                 // requests of one connection without answer
};

// What the assemblies of one capture share. Outlives them.
struct HttpContext {
  ExchangeSink& sink;
  Ledger& ledger;
  HttpLimits limits{};
  HeldBytes held{};
  std::size_t bytes = 0;  // in unfinished messages
};

// Why what is unfinished stays so when a connection ends.
[[nodiscard]] LossReason reason_of(CloseKind how);
[[nodiscard]] RecordedConnection recorded_connection(const ConnectionStart& start,
                                                     const ConnectionEnd& end,
                                                     Side client);

class HttpAssembly final : public StreamReader, private MessageListener {
 public:
  HttpAssembly(const ConnectionStart& start, HttpContext& context);
  ~HttpAssembly() override;

  void on_data(Side from, std::string_view bytes, UnixTime at) override;
  void on_gap(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) override;
  void on_end(Side from, UnixTime at) override;
  void on_closed(const ConnectionEnd& end, UnixTime at) override;

 private:
  enum class Phase : std::uint8_t { deciding, http, opaque };
  struct Slot;
  using Slots = std::list<Slot>;

  http::Framing on_request(const http::RequestHead& head,
                           http::h1::Defects defects,
                           UnixTime at) override;
  http::Framing on_response(const http::ResponseHead& head,
                            http::h1::Defects defects,
                            UnixTime at) override;
  void on_body(MessageKind kind, std::string_view bytes) override;
  void on_message_end(MessageKind kind, UnixTime at) override;
  void on_message_cut(MessageKind kind,
                      LossReason reason,
                      std::uint64_t missing,
                      UnixTime at) override;
  void on_skipped(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at) override;

  void decide(Side from, std::string_view bytes, UnixTime at);
  void begin_http(Side client, UnixTime at);
  void charge_undecided();
  void become_opaque(std::string_view bytes);

  MessageStream& stream(Side from) { return from == client_ ? requests_ : responses_; }

  [[nodiscard]] static bool unanswered(const Slot& slot);
  Slot& slot_for_answer(UnixTime at);
  void keep_body(Slot& slot, MessageKind kind, std::string_view bytes);
  void become_tunnel(Slot& slot, UnixTime at);
  void doubt_pairing(UnixTime at);
  void on_answers_lost(UnixTime at);
  void emit(Slot& slot);
  void tell_skipped();
  void lose(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at);
  [[nodiscard]] std::string endpoint_of(bool client) const;

  // Where the next message of one side begins.
  struct Mark {
    std::int64_t place = 0;
    bool after_fin = false;
    std::uint32_t retransmissions = 0;
    std::optional<Duration> idle{};
  };

  [[nodiscard]] Mark mark(UnixTime at) const;
  [[nodiscard]] bool at_message_begin(Side from);
  [[nodiscard]] UnixTime last_byte(Side from, UnixTime told) const;

  // Skipped bytes of one direction, gathered into one loss.
  struct Skipped {
    LossReason reason = LossReason::not_a_message;
    std::uint64_t bytes = 0;
    UnixTime at{};
  };

  ConnectionStart start_;
  HttpContext& context_;
  Phase phase_ = Phase::deciding;
  Side client_ = Side::first;
  bool strict_ = false;     // the first bytes were seen, so they must be HTTP or nothing is
  bool pipelined_ = false;  // a request came before the answer to the one before it
  bool doubtful_ = false;   // answers can no longer be paired
  bool informational_ = false;
  bool may_switch_ = false;  // the request being read asks for a tunnel
  std::array<std::string, 2> undecided_;
  std::array<UnixTime, 2> undecided_at_{};
  std::size_t undecided_charged_ = 0;                 // to the context
  std::uint64_t passed_bytes_ = 0;                    // before anything was recognised
  std::array<Skipped, 2> skipped_{};                  // by MessageKind
  std::array<Mark, 2> marks_{};                       // by Side
  std::array<std::optional<UnixTime>, 2> last_at_{};  // the last bytes, by Side
  std::uint32_t requests_seen_ = 0;
  Tally* opaque_tally_ = nullptr;
  MessageStream requests_;
  MessageStream responses_;
  Slots slots_;
  Slot* requesting_ = nullptr;
  Slot* answering_ = nullptr;
};

}  // namespace gatedrill::replay::capture
