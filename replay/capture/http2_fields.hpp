// The compression of HTTP/2's fields (HPACK, RFC 7541), undone by nghttp2, also from the middle of
// a connection.
//
// Every field block may refer to those before it. Where some were not captured, a field that refers
// to them stays unknown, and the others are right: references count back from the newest entry, so
// a table that is filled with placeholders for the unknown ones answers in their place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/capture/message_stream.hpp"
#include "replay/recording.hpp"

struct nghttp2_hd_inflater;

namespace gatedrill::replay::capture {

struct Http2Fields {
  std::vector<RecordedField> fields{};  // with the pseudo-fields, as in ":method"
  bool unknown = false;                 // some could not be told
  std::uint64_t kept_bytes = 0;         // of `fields`, as RFC 9113 section 6.5.2 counts them
  std::uint64_t cut_bytes = 0;          // of those behind the last that is kept, if any

  [[nodiscard]] bool whole() const { return !unknown && cut_bytes == 0; }

  [[nodiscard]] std::string_view value(std::string_view name) const {
    return value_of(fields, name);
  }
};

// The compression of one direction's fields. A byte on the wire may stand for a field of any
// length, so of each list so much is kept as of a head of HTTP/1, counted as RFC 9113 section 6.5.2
// does; and only 16 KiB once the lists so far are 200 times what was sent, and 4 MiB.
class Http2Inflater {
 public:
  Http2Inflater();

  // What was compressed until now is not known: from the middle of a connection, or after a gap.
  void forget();
  // Nothing if the block is damaged; `forget` is implied.
  std::optional<Http2Fields> inflate(std::string_view block);

 private:
  struct Free {
    void operator()(nghttp2_hd_inflater* inflater) const;
  };

  void reset();
  std::optional<Http2Fields> feed(std::string_view block);
  // The same of a table in which so many entries stand for unknown ones.
  std::optional<Http2Fields> feed_behind(std::size_t entries, std::string_view block);

  std::unique_ptr<nghttp2_hd_inflater, Free> inflater_;
  bool forgotten_ = false;
  std::size_t placeholders_ = 0;  // that were made when something was forgotten last
  int failures_ = 0;              // in a row
  std::size_t sent_bytes_ = 0;
  std::size_t kept_bytes_ = 0;
};

}  // namespace gatedrill::replay::capture
