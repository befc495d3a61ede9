// What an origin answers: the answers of a recording, so that any capture can be replayed without
// its backend, and one fallback for what was never recorded (or for everything, without a
// recording).
//
// Chosen by, in this order: the exchange that the request names (the replay client's
// x-gatedrill-exchange field, passed through by the gateway), then method and target, then method
// and path. Several answers to the same are given in turn. A HEAD without recorded answer of its
// own takes the GET's. An immutable value once filled; the turns are kept by the caller, one for
// each variant.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/recording.hpp"

namespace gatedrill::scenarios {

struct Answer {
  std::int64_t exchange = 0;  // the recording's id; 0: the fallback
  int status = 200;
  // Field lines with CRLF, as recorded, without hop-by-hop and framing fields.
  std::string field_lines;
  std::string body;                          // content coding as recorded
  std::optional<std::uint64_t> head_length;  // a HEAD's recorded Content-Length

  // Status line, fields, framing and empty line, as they go on the wire.
  [[nodiscard]] std::string head(std::string_view method, bool close) const;
  [[nodiscard]] bool has_body(std::string_view method) const;
};

class AnswerBook {
 public:
  // The next answer of each key that has several.
  using Turns = std::map<const void*, std::size_t>;

  // Answers 404 to everything.
  AnswerBook();

  // Every recorded answer; fails as the recording's reader does.
  static Result<AnswerBook> from(const replay::Recording& recording);
  // The same answer to everything.
  static AnswerBook fixed(int status, std::size_t body_bytes);

  // Exchanges without request or final answer are left out.
  void add(const replay::RecordedExchange& exchange);

  void set_fallback(Answer answer) { fallback_ = std::move(answer); }

  // `exchange` is the text of the request's x-gatedrill-exchange field, empty if it has none.
  [[nodiscard]] const Answer& choose(std::string_view method,
                                     std::string_view target,
                                     std::string_view exchange,
                                     Turns& turns) const;

  [[nodiscard]] std::size_t size() const { return answers_.size(); }

 private:
  using Index = std::map<std::string, std::vector<std::size_t>, std::less<>>;
  [[nodiscard]] const Answer* by_exchange(std::string_view method, std::string_view exchange) const;
  [[nodiscard]] const Answer* by_request(std::string_view method,
                                         std::string_view target,
                                         Turns& turns) const;

  std::vector<Answer> answers_;
  std::vector<std::string> methods_;  // beside answers_
  std::map<std::int64_t, std::size_t> by_id_;
  Index by_target_;  // "GET /cart?x=1"
  Index by_path_;    // "GET /cart"
  Answer fallback_;
};

}  // namespace gatedrill::scenarios
