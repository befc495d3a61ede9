// Where a message's body ends. `request_framing` and `response_framing` judge the framing fields
// (RFC 9112 section 6) and refuse every ambiguity; `BodyReader` follows the body through the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/http/head.hpp"

namespace gatedrill::http {

enum class BodyKind { none, length, chunked, until_close };

struct Framing {
  BodyKind kind = BodyKind::none;
  std::uint64_t length = 0;  // of kind length

  bool operator==(const Framing&) const = default;
};

// What is wrong with the framing fields.
enum class FramingDefect {
  none,
  bad_content_length,       // not digits, a sign, a list, an overflow
  repeated_content_length,  // more than one line, equal or not
  length_and_coding,        // Content-Length beside Transfer-Encoding
  coding_in_http10,         // Transfer-Encoding in an HTTP/1.0 message
  bad_coding,        // not a list of names: an empty element, quotes, chunked with parameters
  chunked_not_last,  // chunked repeated or not final
  unknown_coding,    // a transfer coding other than chunked
};

[[nodiscard]] std::string_view to_string(FramingDefect defect);

// The framing as a lenient reader (a capture) takes it, with the defect that a strict one refuses.
struct FramingVerdict {
  Framing framing;
  FramingDefect defect = FramingDefect::none;
};

[[nodiscard]] FramingVerdict request_framing(const RequestHead& head);

// `request_method` decides for HEAD and CONNECT (RFC 9112 6.3 items 1 and 2).
[[nodiscard]] FramingVerdict response_framing(const ResponseHead& head,
                                              std::string_view request_method);

// Follows one body. Bytes go in as they arrive; payload comes out as views into them.
//
//   BodyReader reader(framing);
//   while (!reader.done()) {
//     const auto step = reader.read(bytes);      // bytes: what has arrived and is not consumed
//     use(step.payload); keep(step.trailer); drop(step.consumed);
//     if (step.malformed) ...
//   }
//
// A strict reader holds a chunked body to RFC 9112 7.1 and bounds all that is not payload: a
// chunk's line, the extensions of the whole body, the trailer section.
class BodyReader {
 public:
  // What a lenient reader (a capture) takes and a strict one refuses: white space behind a chunk's
  // size, lines that end in LF alone, extensions and trailer fields that are none.
  enum class Strictness { strict, lenient };

  static constexpr std::size_t kSizeDigitsMax = 16;
  static constexpr std::size_t kLineBytesMax = std::size_t{8} * 1024;  // without its LF
  static constexpr std::uint64_t kExtensionBytesMax = std::uint64_t{8} * 1024;
  static constexpr std::uint64_t kTrailerBytesMax = std::uint64_t{16} * 1024;
  static constexpr std::size_t kTrailerFieldsMax = 100;

  BodyReader() = default;
  explicit BodyReader(Framing framing, Strictness strictness = Strictness::strict);

  struct Step {
    std::size_t consumed = 0;
    std::string_view payload;  // may be empty: framing bytes only
    Field trailer;             // a field of the trailer section; without a name: none
    bool malformed = false;    // chunk framing is wrong; nothing more can be read
  };

  // Consumes at most one piece of payload; call again while it consumes something. A read that
  // consumes nothing needs more bytes than were given.
  [[nodiscard]] Step read(std::string_view bytes);

  [[nodiscard]] bool done() const { return state_ == State::done; }

  // The peer closed. True if that is the proper end of the body.
  [[nodiscard]] bool finish_at_close();

  [[nodiscard]] std::uint64_t payload_bytes() const { return payload_bytes_; }

  // Of kind length: what is still missing.
  [[nodiscard]] std::uint64_t remaining() const { return remaining_; }

 private:
  enum class State { done, counted, until_close, chunk_size, chunk_data, chunk_end, trailer };
  struct Line;
  [[nodiscard]] Line next_line(std::string_view bytes) const;
  Step read_chunk_size(std::string_view bytes);
  Step read_counted(std::string_view bytes);
  Step read_chunk_end(std::string_view bytes);
  Step read_trailer(std::string_view bytes);

  State state_ = State::done;
  bool chunked_ = false;
  bool lenient_ = false;
  std::uint64_t remaining_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t extension_bytes_ = 0;
  std::uint64_t trailer_bytes_ = 0;
  std::size_t trailer_fields_ = 0;
};

}  // namespace gatedrill::http
