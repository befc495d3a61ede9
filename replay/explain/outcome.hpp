// What became of one exchange on its own leg, as far as TCP shows it. Pure.
//
//   answer whole ────────────────► answered
//   no HTTP, or no longer ───────► malformed
//   answer begun, who ended it? ─► cut_by_server, cut_by_client
//   no answer, who ended it? ────► the server: had it the request?  before / after / unclear
//                                  the client: abandoned, request_cut
//                                  nobody: unfinished
//   the capture has a hole ──────► unknown
//
// Of HTTP/2, a stream that was reset ended there, whatever its connection did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/explain/hop.hpp"

namespace gatedrill::replay::explain {

enum class Fate : std::uint8_t {
  answered,
  malformed,              // what the server sent is no answer, or its body breaks the framing
  cut_by_server,          // the server ended the connection inside its answer
  cut_by_client,          // the client did
  closed_before_request,  // no answer; the server had ended the connection without the request
  closed_after_request,   // no answer; its TCP had all of the request when it ended it
  closed_inside_request,  // no answer; it had a part of the request
  closed_unclear,         // no answer; a reset that does not say what its sender had
  abandoned,              // no answer yet when the client ended the connection
  request_cut,            // the client ended it inside its request
  unfinished,             // no end was seen: the capture ends, or the connection fell silent
  hole,                   // bytes are missing from the capture where the answer should be
  request_not_seen,
};

[[nodiscard]] std::string_view to_string(Fate fate);
// As JSON names it: "closed_before_request".
[[nodiscard]] std::string_view name_of(Fate fate);
// Whether the server ended the connection without a byte of an answer.
[[nodiscard]] bool closed_without_answer(Fate fate);

struct Outcome {
  Fate fate = Fate::answered;
  // Whether the connection had served other requests; absent where its beginning was not seen.
  std::optional<bool> reused{};
  std::optional<UnixTime> ended{};  // by the side that the fate names
  bool by_reset = false;            // RST, not FIN, ended it
  bool of_stream = false;           // RST_STREAM did: the connection may have gone on
  // From the request's last byte (its first, if it is not whole) to the answer's first byte, or to
  // the end.
  std::optional<Duration> waited{};
  // The server's end was captured so long before the request's first byte; negative: after it.
  std::optional<Duration> end_before_request{};
  bool end_was_known = false;  // the client's TCP had the server's FIN before it sent the request
};

[[nodiscard]] Outcome outcome_of(const Hop& hop);

}  // namespace gatedrill::replay::explain
