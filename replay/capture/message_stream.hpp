// Finds the HTTP/1 messages in one direction of a connection. Pure.
//
//   start ──plausible start line──► head ──head complete──► body ──end──► start
//     └─────────── anything else ──► lost ◄── gap, bad framing ──┘
//   lost ──a start line at the beginning of a segment──► head
//
// Tolerant: a head with defects is taken as it is and its defects named. After a gap whose length
// fits into the rest of a body, reading goes on behind it in step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/time.hpp"
#include "gateway/http/framing.hpp"
#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/head.hpp"
#include "replay/capture/ledger.hpp"

namespace gatedrill::replay::capture {

// Of a head, its start line included. Generous: what servers accept in practice, and a bound for
// what a hostile stream can hold.
inline constexpr std::size_t kHeadBytesMax = 256 * 1024;

enum class MessageKind : std::uint8_t { request, response };

[[nodiscard]] constexpr std::size_t index(MessageKind kind) {
  return static_cast<std::size_t>(kind);
}

// Whether bytes can be the beginning of a message; `more` if that cannot be said yet.
enum class Start : std::uint8_t { yes, no, more };
// Out of step, where any bytes may come, a method must be in capitals and a target must follow.
[[nodiscard]] Start request_start(std::string_view bytes, bool in_step = true);
[[nodiscard]] Start response_start(std::string_view bytes);
// A head whose start line is broken but which names a Host. Only trusted where a request must
// begin.
[[nodiscard]] Start damaged_request_start(std::string_view bytes);

// What a stream finds, in order. Views live as long as the call.
class MessageListener {
 public:
  MessageListener() = default;
  MessageListener(const MessageListener&) = delete;
  MessageListener& operator=(const MessageListener&) = delete;
  virtual ~MessageListener() = default;
  // A head; returns how its body is framed.
  virtual http::Framing on_request(const http::RequestHead& head,
                                   http::h1::Defects defects,
                                   UnixTime at) = 0;
  virtual http::Framing on_response(const http::ResponseHead& head,
                                    http::h1::Defects defects,
                                    UnixTime at) = 0;
  virtual void on_body(MessageKind kind, std::string_view bytes) = 0;
  // A field behind a chunked body.
  virtual void on_trailer(MessageKind kind, const http::Field& field) = 0;
  virtual void on_message_end(MessageKind kind, UnixTime at) = 0;
  // The message begun last stays incomplete; `missing` bytes of it were lost, if that is known.
  virtual void on_message_cut(MessageKind kind,
                              LossReason reason,
                              std::uint64_t missing,
                              UnixTime at) = 0;
  // Bytes that are no message.
  virtual void on_skipped(MessageKind kind,
                          LossReason reason,
                          std::uint64_t bytes,
                          UnixTime at) = 0;
};

// What all streams of a capture may keep of unfinished heads, together.
struct HeldBytes {
  std::size_t max = 32U * 1024U * 1024U;
  std::size_t now = 0;
};

class MessageStream {
 public:
  // All references outlive this object.
  MessageStream(MessageKind kind, MessageListener& listener, HeldBytes& budget, Ledger& ledger)
      : kind_(kind), listener_(listener), budget_(budget), ledger_(ledger) {}

  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;

  ~MessageStream() { hold({}); }

  void push(std::string_view bytes, UnixTime at);
  // Whether the head of a message certainly lies, wholly or in part, in a gap of that size here.
  [[nodiscard]] bool head_lies_in(std::uint64_t gap_bytes) const;
  // Returns whether the place of the next message is still known.
  bool gap(std::uint64_t bytes, LossReason reason, UnixTime at);
  // FIN: ends a body that lasts until close.
  void end(UnixTime at);
  // Nothing more comes; whatever is unfinished stays so, for this reason.
  void close(LossReason reason, UnixTime at);

  // Called for a head whose request is not known: if another start line follows it at once, it had
  // no body, whatever its fields say (an answer to HEAD).
  void doubt_body() { body_doubtful_ = true; }

  // Keeps what comes from now on, until it is known what the connection becomes.
  void pause() { paused_ = true; }

  void resume(UnixTime at);
  // What is kept and all that follows belongs to a tunnel.
  void become_tunnel();

  // Another reader takes over, also what is held.
  void stop() { state_ = State::stopped; }

  std::string take_held();

  // Where a message must begin, and nothing has come that does not.
  [[nodiscard]] bool idle() const { return state_ == State::start && held_.empty(); }

  // Where its beginning was lost: from here on a start line may come at any segment.
  void begin_out_of_step() {
    state_ = State::lost;
    lost_by_ = LossReason::gap;
  }

 private:
  enum class State : std::uint8_t { start, lost, head, body, tunnel, stopped };

  [[nodiscard]] bool begins_message(std::string_view bytes) const;
  std::size_t process(std::string_view bytes, UnixTime at);
  // Each returns how much it consumed; nothing if it needs more.
  std::size_t read_start(std::string_view bytes, UnixTime at);
  std::size_t read_head(std::string_view bytes, UnixTime at);
  std::size_t read_body(std::string_view bytes, UnixTime at);
  std::size_t skip(std::string_view bytes, LossReason reason, UnixTime at);
  void hold(std::string bytes);
  void drop_held(LossReason reason, UnixTime at);
  void lose_message(LossReason reason, std::uint64_t missing, UnixTime at);

  MessageKind kind_;
  State state_ = State::start;
  bool paused_ = false;
  bool body_doubtful_ = false;
  bool holed_ = false;            // the body that is being read has a gap
  bool at_segment_begin_ = true;  // the bytes that come next are the first of a segment
  LossReason lost_by_ = LossReason::not_a_message;
  std::string held_;
  UnixTime held_at_{};
  std::size_t scanned_ = 0;  // of a head: where its end is not
  http::BodyReader body_;
  http::BodyKind framing_ = http::BodyKind::none;
  MessageListener& listener_;
  HeldBytes& budget_;
  Ledger& ledger_;
};

}  // namespace gatedrill::replay::capture
