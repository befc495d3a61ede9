// Pairs the requests and answers of one HTTP/2 connection into exchanges: each stream is one. Pure.
//
//   on_data ─► Http2FrameReader (requests) ─┐
//              Http2FrameReader (answers) ──┴─► streams ─► ExchangeRecorder
//
// An answer that is on its way to a client that has reset its stream still comes, and is waited for
// a while. What else comes for a stream that is over is counted, by how it ended, and is no
// message.
//
// Flow control and priorities change nothing of what was said, so they are passed over. Answers
// that a server pushes are counted and not recorded: nobody asked for them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "replay/capture/exchange_recorder.hpp"
#include "replay/capture/http2_frames.hpp"

namespace gatedrill::replay::capture {

class Http2Assembly final : private Http2Listener {
 public:
  enum class Begin : std::uint8_t {
    preface,    // both sides begin with their first bytes
    upgrade,    // the same, behind a request in HTTP/1.1
    somewhere,  // in the middle of a connection
  };

  // `recorder` outlives this object.
  Http2Assembly(ExchangeRecorder& recorder, Begin begin);
  ~Http2Assembly() override;

  // The request that asked for the upgrade: its answer is that of stream 1.
  void take_upgraded(OpenExchange request);

  // `mark` is that of the bytes' beginning.
  void on_data(MessageKind kind,
               std::string_view bytes,
               const ExchangeRecorder::Mark& mark,
               UnixTime at);
  void on_gap(MessageKind kind, std::uint64_t bytes, LossReason reason, UnixTime at);
  // Nothing more comes; whatever is unfinished stays so, for this reason.
  void close(LossReason reason, UnixTime at);

 private:
  using Streams = std::map<std::uint32_t, OpenExchange>;

  void on_frame(MessageKind kind, std::uint32_t stream) override;
  void on_fields(MessageKind kind, std::uint32_t stream, Http2Fields fields, UnixTime at) override;
  void on_body(MessageKind kind, std::uint32_t stream, std::string_view bytes) override;
  void on_stream_end(MessageKind kind, std::uint32_t stream, UnixTime at) override;
  void on_stream_reset(MessageKind kind, std::uint32_t stream, UnixTime at) override;
  void on_goaway(MessageKind kind, std::uint32_t last_stream, UnixTime at) override;
  void on_push(std::uint32_t promised) override;
  void on_stream_cut(MessageKind kind, std::uint32_t stream, LossReason reason) override;
  void on_place_lost(MessageKind kind, LossReason reason) override;
  void on_skipped(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at) override;

  void on_request(std::uint32_t stream, Http2Fields fields, UnixTime at);
  void on_response(std::uint32_t stream, Http2Fields fields, UnixTime at);
  OpenExchange& new_stream(std::uint32_t stream, UnixTime at);
  void begin_tunnel(Streams::iterator stream, UnixTime at);
  // The frames of this stream are counted here from now on, and nothing else.
  void set_aside(std::uint32_t stream, Tally& tally);
  // What counts the frames of that stream that one side may not send any more; none: it may.
  // `found`: where it stands among the open ones.
  [[nodiscard]] Tally* late(MessageKind kind, std::uint32_t stream, Streams::const_iterator found);
  void keep_trailers(OpenExchange& open, MessageKind kind, std::vector<RecordedField> fields);
  void await_late_answer(Streams::iterator stream, UnixTime at);
  void end_waits(UnixTime now);
  void cut(OpenExchange& open, MessageKind kind);
  void give_up(Streams::iterator stream, LossReason reason, StreamEnd end, UnixTime at);
  bool finish_if_done(Streams::iterator stream);
  void remember_broken(std::uint32_t stream, StreamEnd end);
  void emit(Streams::iterator stream);

  Http2FrameReader& reader(MessageKind kind) {
    return kind == MessageKind::request ? requests_ : responses_;
  }

  // Bytes of bodies whose head was not seen, or of no frame; told as one loss.
  struct Lost {
    std::uint64_t bytes = 0;
    UnixTime at{};
  };

  void gather(MessageKind kind, LossReason reason, std::uint64_t bytes);
  void tell_gathered();

  ExchangeRecorder& recorder_;
  Http2FrameReader requests_;
  Http2FrameReader responses_;
  std::array<ExchangeRecorder::Mark, 2> marks_{};  // by MessageKind
  UnixTime now_{};                                 // of what is being read
  Streams streams_;
  std::map<std::uint32_t, Tally*> aside_;
  // Whose late answers are waited for, by time; some of them may have come since.
  std::deque<std::pair<UnixTime, std::uint32_t>> awaited_;
  std::map<std::uint32_t, StreamEnd> broken_;         // the last streams that did not just end
  std::array<std::map<LossReason, Lost>, 2> lost_{};  // by MessageKind
};

}  // namespace gatedrill::replay::capture
