// One exchange as `traffic explain` sees it: what happened on one leg, with what TCP showed of its
// connection, and without bodies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/time.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay::explain {

// What makes two exchanges the same request on two legs, the strongest first.
enum class KeyKind : std::uint8_t {
  request_id,  // x-request-id and its like: one request
  trace,       // traceparent, b3 and their like: a request and all that it caused
  content,     // method, target and body
};

[[nodiscard]] std::string_view to_string(KeyKind kind);

struct JoinKey {
  KeyKind kind = KeyKind::content;
  std::uint64_t hash = 0;

  auto operator<=>(const JoinKey&) const = default;
};

struct Hop {
  int recording = 0;  // 0: the recording; 1: the one of the upstream leg
  std::int64_t id = 0;
  std::string client{};
  std::string server{};
  std::string method{};  // empty: the request was not seen
  std::string target{};
  std::string request_id{};  // as it stands in the field of the first key; may be empty
  UnixTime begin{};
  std::optional<UnixTime> request_end{};
  std::optional<UnixTime> answer_begin{};
  std::optional<UnixTime> answer_end{};
  std::optional<int> status{};
  bool request_whole = true;
  bool answer_whole = true;
  bool tunnel = false;
  std::uint32_t ordinal = 0;
  std::optional<Duration> idle_before{};
  std::optional<RecordedTransport> transport{};
  std::optional<RecordedReset> reset{};        // of HTTP/2: who gave up this stream
  std::optional<UnixTime> malformed_answer{};  // where an answer began, or went on, that is none
  std::uint64_t request_head_bytes = 0;
  std::string answer_defects{};
  std::uint64_t identity = 0;   // of the credentials that came with it; 0: none
  std::string forwarded_for{};  // the first address of X-Forwarded-For or its like
  std::vector<JoinKey> keys{};  // the strongest first
  RecordedConnection connection{};

  [[nodiscard]] bool has_request() const { return !method.empty(); }

  // How old the connection was when the request began, if its beginning was seen.
  [[nodiscard]] std::optional<Duration> age() const;
  // The last that was seen of it; absent while it lasts.
  [[nodiscard]] std::optional<UnixTime> end() const;
  // Of its connection, bytes that were sent and are not in the capture.
  [[nodiscard]] std::uint64_t missing_bytes() const;
  // Answered before the request was whole, and what was missing of it then never came.
  [[nodiscard]] bool upload_cut() const;
  // From the last byte of the request to the first of the answer.
  [[nodiscard]] std::optional<Duration> first_byte() const;
  // "GET /path" without the query.
  [[nodiscard]] std::string name() const;
};

// The fields that tell which request this is, a "name: value" a line as a recording holds them. Of
// both messages, since a gateway that makes an id itself may only show it in its answer.
void read_request_fields(std::string_view lines, Hop& hop);
void read_answer_fields(std::string_view lines, Hop& hop);
// Of method, target and the hash of the body.
[[nodiscard]] JoinKey content_key(const Hop& hop, std::string_view body_hash);

// The address of "10.0.0.1:80" or "[::1]:80".
[[nodiscard]] std::string_view address_of(std::string_view endpoint);

// A connection that a client tried to open in vain.
struct Attempt {
  RecordedConnection connection{};
  int rivals = 0;  // other requests that may have caused it
};

}  // namespace gatedrill::replay::explain
