// What the readers of one connection's messages share, whatever the version of HTTP: who is the
// client, the times and places of messages, what may be kept of them, and the account that each
// exchange goes into on its way to the sink.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/capture/ledger.hpp"
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

// An exchange while it is put together.
struct OpenExchange {
  RecordedExchange exchange{};
  bool request_done = false;
  bool answer_begun = false;
  bool answer_done = false;
  bool answer_maybe_lost = false;     // it may lie in a gap
  bool answer_certain = false;        // the next answers are those of such requests, in order
  std::uint32_t retransmissions = 0;  // of the connection when it began
  std::size_t bytes = 0;              // its share of the context's

  // A whole request of which no answer has been seen; where none will come, it is done.
  [[nodiscard]] bool unanswered() const { return request_done && !answer_begun; }
};

// A method that could not be told, or a path of HTTP/2: every request has a method.
inline constexpr std::string_view kNotTold = "?";

// Why what is unfinished stays so when a connection ends.
[[nodiscard]] LossReason reason_of(const ConnectionEnd& end);
[[nodiscard]] RecordedConnection recorded_connection(const ConnectionStart& start,
                                                     const ConnectionEnd& end,
                                                     Side client);

class ExchangeRecorder {
 public:
  // Where the next message of one side begins.
  struct Mark {
    std::int64_t place = 0;
    bool after_fin = false;
    std::uint32_t retransmissions = 0;
    std::optional<Duration> idle{};
  };

  // `context` outlives this object.
  ExchangeRecorder(const ConnectionStart& start, HttpContext& context)
      : start_(start),
        endpoints_{to_string(start.first), to_string(start.second)},
        context_(context),
        client_(start.client.value_or(Side::first)) {}

  ExchangeRecorder(const ExchangeRecorder&) = delete;
  ExchangeRecorder& operator=(const ExchangeRecorder&) = delete;

  [[nodiscard]] const ConnectionStart& start() const { return start_; }

  [[nodiscard]] HttpContext& context() { return context_; }

  [[nodiscard]] Side client() const { return client_; }

  void set_client(Side client) { client_ = client; }

  [[nodiscard]] std::uint32_t requests_seen() const { return requests_seen_; }

  [[nodiscard]] MessageKind kind_from(Side from) const {
    return from == client_ ? MessageKind::request : MessageKind::response;
  }

  // For a message that begins with the bytes that are being delivered; before `on_data`.
  [[nodiscard]] Mark mark(UnixTime at) const;

  // Bytes came from that side.
  void on_data(Side from, UnixTime at) { last_at_[index(from)] = at; }

  // Each of these is told what it needs of the head before it is called.
  void begin_request(OpenExchange& open, Mark& mark, UnixTime at);
  void begin_response(OpenExchange& open, UnixTime at);
  void end_request(OpenExchange& open, UnixTime at);
  void end_response(OpenExchange& open, UnixTime at);
  void cut_request(OpenExchange& open);
  void cut_response(OpenExchange& open);

  // Counts a part of it into what unfinished messages may take.
  void charge(OpenExchange& open, std::size_t bytes);
  // The same for the fields of its head or its trailers, which go where there is no room for them.
  void keep_fields(OpenExchange& open, MessageKind kind, std::vector<RecordedField>& fields);
  // Appends to the body, up to the limits.
  void keep_body(OpenExchange& open, MessageKind kind, std::string_view bytes);

  // The exchange is over: it is counted and handed on.
  void emit(OpenExchange& open);
  // It will never be.
  void drop(OpenExchange& open);

  void lose(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at);
  // Gives a gap, which the account has already, its place.
  void place_gap(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at);
  void close(const ConnectionEnd& end);

 private:
  [[nodiscard]] UnixTime last_byte(MessageKind kind, UnixTime told) const;

  ConnectionStart start_;
  std::array<std::string, 2> endpoints_;  // by Side
  HttpContext& context_;
  Side client_;
  std::array<std::optional<UnixTime>, 2> last_at_{};  // by Side
  std::uint32_t requests_seen_ = 0;
};

}  // namespace gatedrill::replay::capture
