// Pairs the HTTP/1 requests and answers of one connection into exchanges, and hands the connection
// to Http2Assembly where it is or becomes HTTP/2. Pure.
//
//   on_data ─► which side is the client? ─► MessageStream (requests) ─┐
//                 │    │                    MessageStream (answers) ──┴─► slots ─► ExchangeRecorder
//                 │    └─► Http2Assembly ◄── 101, Upgrade: h2c ───────────┘
//                 └─► neither: counted as what it is, and dropped
//
// A slot is a request that waits for its answer; answers come in the order of the requests. After
// a loss that makes the order doubtful nothing is paired any more: a missing pair can be told, a
// wrong one cannot. Of requests that were sent without waiting for the answers to those before:
//
//   requests are lost: those before the gap have their answers still, and what follows is unknown
//   answers are lost:  those behind the gap are kept until only one number of lost answers can be
//     true. No answer comes before its request, so it is at most what was sent less what has come;
//     it is at least one if an answer begins in the gap, and not an informational one (1xx); HEAD
//     alone is answered with a length and no body; and an answer may repeat its request's id.
#pragma once

#include <array>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "replay/capture/exchange_recorder.hpp"
#include "replay/capture/http2_assembly.hpp"
#include "replay/capture/message_stream.hpp"
#include "replay/capture/tcp_reassembly.hpp"

namespace gatedrill::replay::capture {

// Answers behind a gap of which it is not known yet to which requests they are.
struct HeldAnswers {
  std::size_t lost_least = 0;  // in the gap
  std::size_t lost_most = std::numeric_limits<std::size_t>::max();
  std::list<OpenExchange> answers{};
};

class HttpAssembly final : public StreamReader, private MessageListener {
 public:
  HttpAssembly(const ConnectionStart& start, HttpContext& context);
  ~HttpAssembly() override;

  void on_data(Side from, std::string_view bytes, UnixTime at) override;
  void on_gap(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) override;
  void on_end(Side from, UnixTime at) override;
  void on_closed(const ConnectionEnd& end, UnixTime at) override;

 private:
  enum class Phase : std::uint8_t { deciding, http, http2, opaque };
  using Slot = OpenExchange;
  using Slots = std::list<Slot>;

  http::Framing on_request(const http::RequestHead& head,
                           http::h1::Defects defects,
                           UnixTime at) override;
  http::Framing on_response(const http::ResponseHead& head,
                            http::h1::Defects defects,
                            UnixTime at) override;
  void on_body(MessageKind kind, std::string_view bytes) override;
  void on_trailer(MessageKind kind, const http::Field& field) override;
  void on_message_end(MessageKind kind, UnixTime at) override;
  void on_message_cut(MessageKind kind,
                      LossReason reason,
                      std::uint64_t missing,
                      UnixTime at) override;
  void on_skipped(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at) override;

  void decide(Side from, std::string_view bytes, UnixTime at);
  void begin_http(Side client, UnixTime at);
  void begin_http2(Side client, Http2Assembly::Begin begin, UnixTime at);
  void hand_to_http2(UnixTime at);
  void count_passed(UnixTime at);
  void charge_undecided();
  void become_opaque();

  MessageStream& stream(Side from) {
    return recorder_.kind_from(from) == MessageKind::request ? requests_ : responses_;
  }

  Slot& slot_for_answer(UnixTime at);
  void become_tunnel(Slot& slot, UnixTime at);
  void upgrade_to_http2(Slot& slot);
  enum class Waiting : std::uint8_t { give_up, keep };
  // Nothing is paired from now on, but the requests that wait already if they are kept.
  void doubt_pairing(Waiting waiting, UnixTime at);
  void on_requests_lost(bool inside_one, UnixTime at);
  // `head_lost`: by a gap that holds the head of one; none: there is no gap.
  void on_answers_lost(std::optional<bool> head_lost, UnixTime at);
  [[nodiscard]] std::vector<Slot*> waiting();
  [[nodiscard]] bool can_hold(const std::vector<Slot*>& due) const;
  // Pairs the answers that are held if it is certain whose they are; `more` have begun beside them.
  void settle_held(std::size_t more, UnixTime at);
  void pair_held(const std::vector<Slot*>& due, std::size_t lost);

  // Whether nothing more is waited for, once its request is.
  [[nodiscard]] bool is_over(const Slot& slot) const {
    return slot.answer_done || (doubtful_ && slot.unanswered() && !slot.answer_certain);
  }

  void on_answer_over(Slot& slot, UnixTime at);
  void emit(Slot& slot);
  void tell_skipped();
  [[nodiscard]] bool at_message_begin(Side from);

  // Skipped bytes of one direction, gathered into one loss.
  struct Skipped {
    LossReason reason = LossReason::not_a_message;
    std::uint64_t bytes = 0;
    UnixTime at{};
  };

  HttpContext& context_;
  ExchangeRecorder recorder_;
  Phase phase_ = Phase::deciding;
  bool strict_ = false;            // the first bytes were seen, so they must be HTTP or nothing is
  bool pipelined_ = false;         // a request came before the answer to the one before it
  bool doubtful_ = false;          // answers can no longer be paired
  bool requests_missing_ = false;  // a gap may have swallowed some since the last one
  int answers_due_ = 0;            // and so many answers, before the next one comes
  int answers_since_request_ = 0;  // that began or were lost
  std::array<bool, 2> begins_in_gap_{};  // by Side, while it is being decided
  std::optional<HeldAnswers> held_{};
  bool informational_ = false;
  bool may_switch_ = false;  // the request being read asks for a tunnel or another protocol
  std::array<std::string, 2> undecided_;
  std::array<UnixTime, 2> undecided_at_{};
  std::size_t undecided_charged_ = 0;              // to the context
  std::uint64_t passed_bytes_ = 0;                 // before anything was recognised
  std::array<Skipped, 2> skipped_{};               // by MessageKind
  std::array<ExchangeRecorder::Mark, 2> marks_{};  // by Side
  Tally* opaque_tally_ = nullptr;
  MessageStream requests_;
  MessageStream responses_;
  Slots slots_;
  Slot* requesting_ = nullptr;
  Slot* answering_ = nullptr;
  std::unique_ptr<Http2Assembly> http2_;
};

}  // namespace gatedrill::replay::capture
