// Splits one direction of an HTTP/1 connection into messages without altering a byte: a whole head
// first, then the body in pieces as they arrive. What it cannot follow (a malformed head, a tunnel)
// passes through from there on as pieces of no message.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/http/framing.hpp"
#include "gateway/http/head.hpp"

namespace gatedrill::chaos {

struct Piece {
  std::string bytes;
  bool begins = false;   // `bytes` is the whole head of a message
  bool ends = false;     // the message is complete with it
  bool interim = false;  // a 1xx answer, complete in itself and not the last one
  // Of a request's head.
  std::string method;
  std::string target;
  std::string request_id;
};

class H1Splitter {
 public:
  enum class Role { requests, answers };

  explicit H1Splitter(Role role) : role_(role) {}

  void add(std::string_view bytes) { buffer_.append(bytes); }

  // The next piece; nothing when more bytes are needed.
  [[nodiscard]] std::optional<Piece> next();
  // The peer will send no more: what was held back of an unfinished head.
  [[nodiscard]] std::string rest();

  // Role answers: a request was sent whose answer is to come. Its method decides about the body.
  void expect(std::string_view method) { expected_.emplace_back(method); }

  [[nodiscard]] bool opaque() const { return opaque_; }

 private:
  [[nodiscard]] std::optional<Piece> next_head();
  [[nodiscard]] Piece next_body();

  Role role_;
  std::string buffer_;
  bool in_body_ = false;
  bool opaque_ = false;
  http::BodyReader body_;
  std::deque<std::string> expected_;
};

}  // namespace gatedrill::chaos
