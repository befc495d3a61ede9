// Finds the frames of HTTP/2 (RFC 9113) in one direction of a connection. Pure.
//
//   preface (client) ──► frame ──► frame ──► ...
//                          └─ gap ──► lost ──a chain of frames at the beginning of a segment──►
//                          frame
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/capture/http2_fields.hpp"
#include "replay/capture/message_stream.hpp"

namespace gatedrill::replay::capture {

inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct Http2FrameHeader {
  static constexpr std::size_t kBytes = 9;

  enum Type : std::uint8_t {
    data = 0,
    headers = 1,
    priority = 2,
    rst_stream = 3,
    settings = 4,
    push_promise = 5,
    ping = 6,
    goaway = 7,
    window_update = 8,
    continuation = 9,
  };

  std::size_t length = 0;
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
};

// What a direction holds, in order. Views live as long as the call.
class Http2Listener {
 public:
  Http2Listener() = default;
  Http2Listener(const Http2Listener&) = delete;
  Http2Listener& operator=(const Http2Listener&) = delete;
  virtual ~Http2Listener() = default;
  // The frame of a head or of a body begins, before what it holds is told.
  virtual void on_frame(MessageKind kind, std::uint32_t stream) = 0;
  // A head, an informational one or trailers.
  virtual void on_fields(MessageKind kind,
                         std::uint32_t stream,
                         Http2Fields fields,
                         UnixTime at) = 0;
  virtual void on_body(MessageKind kind, std::uint32_t stream, std::string_view bytes) = 0;
  virtual void on_stream_end(MessageKind kind, std::uint32_t stream, UnixTime at) = 0;
  // RST_STREAM.
  virtual void on_stream_reset(MessageKind kind, std::uint32_t stream, UnixTime at) = 0;
  virtual void on_goaway(MessageKind kind, std::uint32_t last_stream, UnixTime at) = 0;
  virtual void on_push(std::uint32_t promised) = 0;
  // Something of what this stream sends is missing.
  virtual void on_stream_cut(MessageKind kind, std::uint32_t stream, LossReason reason) = 0;
  // So it may be for all of them.
  virtual void on_place_lost(MessageKind kind, LossReason reason) = 0;
  // Bytes that are no frame.
  virtual void on_skipped(MessageKind kind,
                          LossReason reason,
                          std::uint64_t bytes,
                          UnixTime at) = 0;
};

class Http2FrameReader {
 public:
  // All references outlive this object. `from_start`: the preface comes first, else a frame may
  // begin at any segment.
  Http2FrameReader(MessageKind kind,
                   bool from_start,
                   Http2Listener& listener,
                   HeldBytes& budget,
                   Ledger& ledger);
  ~Http2FrameReader();
  Http2FrameReader(const Http2FrameReader&) = delete;
  Http2FrameReader& operator=(const Http2FrameReader&) = delete;

  void push(std::string_view bytes, UnixTime at);
  void gap(std::uint64_t bytes, LossReason reason, UnixTime at);
  // Nothing more comes; what is held is skipped for this reason.
  void close(LossReason reason, UnixTime at);

  // Where a frame may begin, and nothing of it has come.
  [[nodiscard]] bool idle() const { return state_ != State::payload && held_.empty(); }

 private:
  enum class State : std::uint8_t { preface, frame, payload, lost };

  // Each returns how much it consumed; nothing if it needs more.
  std::size_t read(std::string_view bytes, UnixTime at);
  std::size_t read_preface(std::string_view bytes, UnixTime at);
  std::size_t read_frame(std::string_view bytes, UnixTime at);
  std::size_t read_payload(std::string_view bytes, UnixTime at);
  void whole_frame(const Http2FrameHeader& header, std::string_view payload, UnixTime at);
  void begin_block(const Http2FrameHeader& header, std::string_view fragment, UnixTime at);
  void end_block(UnixTime at);
  void end_payload(UnixTime at);
  void lose_place(LossReason reason, UnixTime at);
  std::size_t skip(std::string_view bytes, LossReason reason, UnixTime at);
  void hold(std::string bytes);

  MessageKind kind_;
  State state_;
  bool at_segment_begin_ = true;
  LossReason lost_by_ = LossReason::began_mid_message;
  std::string held_;  // the beginning of a frame
  UnixTime held_at_{};

  // Of the frame whose payload is not held: DATA, and what is of no use.
  Http2FrameHeader frame_{};
  std::size_t content_left_ = 0;
  std::size_t padding_left_ = 0;

  // A field block, over several frames.
  bool in_block_ = false;
  Http2FrameHeader block_frame_{};
  std::uint32_t promised_ = 0;  // not zero: the block is a promise's
  std::string block_;
  UnixTime block_at_{};

  Http2Inflater inflater_;
  Http2Listener& listener_;
  HeldBytes& budget_;
  Ledger& ledger_;
  std::size_t charged_ = 0;
};

// Whether bytes are a server's first ones; `more` if that cannot be said yet.
[[nodiscard]] Start http2_server_start(std::string_view bytes);
[[nodiscard]] Start http2_client_start(std::string_view bytes);
// Who sends a segment from the middle of a connection, if it begins with frames and holds a head.
[[nodiscard]] std::optional<MessageKind> http2_kind_of(std::string_view segment);

}  // namespace gatedrill::replay::capture
