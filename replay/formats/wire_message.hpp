// Recorded messages as HTTP/1 bytes, and back. Recorded bodies are without their transfer coding;
// on the wire they get the framing that their fields name, or one that fits where none does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/recording.hpp"

namespace gatedrill::replay::formats {

// What had to be done to write a message; each is a reason for a note.
struct WireChanges {
  bool framing = false;   // Content-Length or Transfer-Encoding were wrong for the body, or absent
  bool version = false;   // it was not of HTTP/1, and is written so
  bool fields = false;    // a field that cannot stand on a line was left out
  bool trailers = false;  // they were left out
};

class ExportNotes;

// A note for each of them.
void note(const WireChanges& changes, std::int64_t exchange, ExportNotes& notes);

struct WireMessage {
  std::string bytes;
  WireChanges changes;
  bool ends_at_close = false;  // only the end of the connection ends the body
};

// `cut_inside` is a text that the body shall not show in one piece: a body that holds it becomes
// chunked, with a chunk's end inside the text. Nothing where that cannot be, in HTTP/1.0. Also
// nothing for heads that cannot be written: white space or line ends in the method or target.
[[nodiscard]] std::optional<WireMessage> to_wire(const RecordedRequest& request,
                                                 std::string_view host,
                                                 std::string_view cut_inside = {});
// `method` is the request's, empty if unknown.
[[nodiscard]] std::optional<WireMessage> to_wire(const RecordedResponse& response,
                                                 std::string_view method,
                                                 std::string_view cut_inside = {});

struct ReadRequest {
  RecordedRequest message;
  std::string host;
  std::uint64_t missing_bytes = 0;  // of a body that breaks off, if that is known
  std::string_view rest;            // behind the message
};

struct ReadResponse {
  RecordedResponse message;
  std::vector<int> informational;  // the 1xx answers in front of it
  std::uint64_t missing_bytes = 0;
  std::string_view rest;
};

// The message at the beginning of `bytes`; nothing if there is none. A head without its empty line
// and a body that breaks off make it incomplete, a body without framing reaches to the end.
[[nodiscard]] std::optional<ReadRequest> read_request(std::string_view bytes);
[[nodiscard]] std::optional<ReadResponse> read_response(std::string_view bytes,
                                                        std::string_view method);

// The host that a request asks for: that of its target, or its Host field.
[[nodiscard]] std::string requested_host(std::string_view method,
                                         std::string_view target,
                                         const std::vector<RecordedField>& fields);

// Whether it can stand in a head.
[[nodiscard]] bool on_one_line(std::string_view text);
[[nodiscard]] bool has_field(const std::vector<RecordedField>& fields, std::string_view name);

// "http/1.1" for "HTTP/1.1", "h2" for "HTTP/2".
[[nodiscard]] std::string protocol_of(std::string_view version);

// The request's method; empty where the request was not seen.
[[nodiscard]] std::string_view method_of(const RecordedExchange& exchange);

// Whether an answer with this status to this method has a body at all (RFC 9112 6.3).
[[nodiscard]] bool may_have_body(int status, std::string_view method);

}  // namespace gatedrill::replay::formats
