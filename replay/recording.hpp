// A recording of HTTP traffic (traffic.db): what a capture or an import writes and what replay,
// `traffic` and the simulated origins read. The file format is RECORDING.md; it is SQLite, and the
// views of product.md are its public face.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "gateway/http/head.hpp"

namespace gatedrill::replay {

// Members are initialised one by one so that designated initialisers may leave any out.
struct RecordedField {
  std::string name{};
  std::string value{};

  bool operator==(const RecordedField&) const = default;
};

// The value of the first field of that name, in any case; empty if there is none.
[[nodiscard]] inline std::string_view value_of(const std::vector<RecordedField>& fields,
                                               std::string_view name) {
  for (const RecordedField& field : fields) {
    if (http::equals_ignoring_case(field.name, name)) return field.value;
  }
  return {};
}

// Bodies are after de-chunking; their content coding is kept as it was on the wire.
struct RecordedRequest {
  std::string method{};
  std::string target{};                 // as sent
  std::string version{};                // "HTTP/1.1"
  std::vector<RecordedField> fields{};  // in order
  std::string body{};
  std::vector<RecordedField> trailers{};  // behind the body
  bool complete = true;                   // on the wire
  bool redacted = false;                  // a secret in it was replaced
  bool body_dropped = false;  // by redaction, which could not read it: the body is empty
  std::string defects{};      // what is wrong with it, as in "bare_lf,length_and_coding"

  bool operator==(const RecordedRequest&) const = default;
};

struct RecordedResponse {
  int status = 0;
  std::string reason{};
  std::string version{};
  std::vector<RecordedField> fields{};
  std::string body{};
  std::vector<RecordedField> trailers{};  // behind the body
  bool complete = true;
  bool redacted = false;
  bool body_dropped = false;
  std::string defects{};

  bool operator==(const RecordedResponse&) const = default;
};

// Whether all of it is here.
template <class Message>
[[nodiscard]] bool is_whole(const Message& message) {
  return message.complete && !message.body_dropped;
}

// How TCP carried a request; only a capture knows it. Places count the bytes of the client's stream
// and are good for comparing with those of the connection's sides.
struct RecordedTransport {
  std::int64_t request_begin = 0;
  std::int64_t request_end = 0;
  bool acknowledged = false;  // the server's TCP had all of the request
  bool after_fin = false;     // the client's TCP had the server's FIN before it sent the request
  std::uint32_t retransmissions = 0;  // by either side, from its first byte to the answer's last

  bool operator==(const RecordedTransport&) const = default;
};

// One side gave the exchange up and not the connection: RST_STREAM of HTTP/2.
struct RecordedReset {
  UnixTime at{};
  bool by_client = false;

  [[nodiscard]] std::string_view by() const { return by_client ? "client" : "server"; }

  bool operator==(const RecordedReset&) const = default;
};

// One request with its answer; either may be missing, not both.
struct RecordedExchange {
  std::int64_t id = 0;
  UnixTime at{};  // first byte of the request, or of the answer where the request was not seen
  std::int64_t connection = 0;
  std::string client{};    // "10.0.0.1:5678"
  std::string server{};    // "10.0.0.2:80"
  std::string protocol{};  // "http/1.0", "http/1.1", "h2"
  std::string host{};      // as requested, without port defaults added; may be empty
  std::optional<RecordedRequest> request{};
  std::optional<RecordedResponse> response{};
  std::optional<Duration> latency{};  // first request byte to last answer byte
  std::vector<int> informational{};   // the 1xx answers before the final one, in order
  bool tunnel = false;  // the connection became something else after it (CONNECT, 101)
  std::optional<UnixTime> request_end{};     // its last byte, if it is whole
  std::optional<UnixTime> response_begin{};  // of the final answer
  std::optional<UnixTime> response_end{};    // the last byte that was seen of it
  std::uint32_t ordinal = 0;  // which request of its connection, from 1; 0: not known
  // How long the connection had been silent when the request began: since the last byte of either
  // side, or since the handshake. Absent where neither was seen.
  std::optional<Duration> idle_before{};
  std::optional<RecordedTransport> transport{};
  std::optional<RecordedReset> reset{};  // what was on its way then belongs to the exchange
  std::optional<bool> tls{};             // whether it came inside TLS; absent where nobody knows

  bool operator==(const RecordedExchange&) const = default;
};

// What one end of a connection did, in TCP's terms. Places count the bytes of a stream from its
// beginning, or from where the capture began.
struct RecordedSide {
  std::optional<UnixTime> fin{};            // its first
  std::optional<UnixTime> rst{};            // its first
  std::optional<std::int64_t> fin_acked{};  // how far the peer's stream had come to it by then
  std::optional<std::int64_t> rst_acked{};  // absent in a reset that acknowledges nothing
  std::int64_t sent = 0;                    // the end of its own stream
  std::int64_t acked = 0;                   // how much of that the peer acknowledged
  std::uint32_t retransmissions = 0;        // segments with data that was sent before
  std::uint32_t zero_windows = 0;           // how often it let the peer send nothing more

  bool operator==(const RecordedSide&) const = default;
};

struct RecordedConnection {
  std::int64_t connection = 0;
  std::string client{};
  std::string server{};
  std::optional<UnixTime> opened{};  // of the SYN; absent where the capture began later
  std::optional<UnixTime> closed{};
  std::string closed_by{};   // "client", "server", or empty
  std::string how = "open";  // "fin", "rst", "timeout", "open"
  std::optional<Duration> idle_before_close{};
  std::uint64_t gap_bytes = 0;
  // "established", "refused" (SYN answered by RST), "unanswered"; empty where no SYN was seen.
  std::string connect{};
  std::uint32_t syns = 0;                 // the client's; more than one: it had to repeat it
  std::optional<UnixTime> answered{};     // the server's SYN
  std::optional<UnixTime> established{};  // the client's first segment after that
  RecordedSide client_side{};
  RecordedSide server_side{};

  bool operator==(const RecordedConnection&) const = default;
};

// Bytes or messages that should be in the recording and are not, or are not whole.
struct RecordedLoss {
  UnixTime at{};
  std::int64_t connection = 0;  // 0: not of one connection
  std::string direction{};      // "request", "response", or empty
  std::string reason{};
  std::uint64_t bytes = 0;

  bool operator==(const RecordedLoss&) const = default;
};

// One line of the account of everything that was seen.
struct LedgerLine {
  std::string what{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::string note{};

  bool operator==(const LedgerLine&) const = default;
};

// Whether there is a recording at that path, of whatever format.
[[nodiscard]] bool is_recording(const std::string& path);

// Reads a recording. Not thread-safe; the file may be read by many at once.
class Recording {
 public:
  // Fails (outside) if the file is missing or unreadable, (usage) if it is not a recording.
  static Result<Recording> open(const std::string& path);

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  // False if its writer was killed or failed: what it had not saved yet is missing.
  [[nodiscard]] bool finished() const;

  // Every exchange in the order of its time, ties by id. The callback returns false to stop.
  Result<void> for_each(const std::function<bool(const RecordedExchange&)>& use) const;
  Result<std::vector<RecordedExchange>> read_all() const;

  // Nothing if no exchange has that id.
  Result<std::optional<RecordedExchange>> find(std::int64_t id) const;

  Result<std::vector<RecordedConnection>> connections() const;
  Result<std::vector<RecordedLoss>> losses() const;
  Result<std::vector<LedgerLine>> ledger() const;

 private:
  struct State;
  explicit Recording(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::replay
