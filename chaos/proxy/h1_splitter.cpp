#include "chaos/proxy/h1_splitter.hpp"

#include <utility>

#include "gateway/http/h1/head_parser.hpp"

namespace gatedrill::chaos {
namespace {

// Wider than any gateway's: the link is not the one to judge.
constexpr http::h1::HeadLimits kLimits{1 << 20, 1 << 20, 10'000, 1 << 20};

// Whether bytes that are no whole head yet can become one: other protocols must not be held back.
bool may_be_request(std::string_view bytes) {
  while (bytes.starts_with("\r\n"))
    bytes.remove_prefix(2);
  if (bytes.empty() || bytes == "\r") return true;
  const bool letter = (bytes[0] >= 'A' && bytes[0] <= 'Z') || (bytes[0] >= 'a' && bytes[0] <= 'z');
  const std::size_t line_end = bytes.find('\n');
  if (!letter || line_end == std::string_view::npos) return letter;
  return bytes.substr(0, line_end).find(" HTTP/1.") != std::string_view::npos;
}

bool may_be_answer(std::string_view bytes) {
  constexpr std::string_view kStart = "HTTP/1.";
  return kStart.starts_with(bytes.substr(0, kStart.size()));
}

}  // namespace

std::optional<Piece> H1Splitter::next() {
  if (buffer_.empty()) return std::nullopt;
  if (!opaque_) {
    std::optional<Piece> piece;
    if (in_body_) {
      piece = next_body();
    } else {
      piece = next_head();
    }
    if (piece && !piece->bytes.empty()) return piece;
    if (!opaque_) return std::nullopt;
  }
  Piece piece;
  piece.bytes = std::exchange(buffer_, {});
  return piece;
}

std::string H1Splitter::rest() {
  return std::exchange(buffer_, {});
}

std::optional<Piece> H1Splitter::next_head() {
  opaque_ = role_ == Role::requests ? !may_be_request(buffer_) : !may_be_answer(buffer_);
  if (opaque_) return std::nullopt;
  Piece piece;
  http::h1::HeadResult parsed;
  if (role_ == Role::requests) {
    http::RequestHead head;
    parsed = http::h1::parse_request_head(buffer_, kLimits, head);
    if (parsed.state == http::h1::HeadState::incomplete) return std::nullopt;
    opaque_ = parsed.state != http::h1::HeadState::complete || !parsed.defects.none();
    if (opaque_) return std::nullopt;
    const http::FramingVerdict verdict = http::request_framing(head);
    opaque_ = verdict.defect != http::FramingDefect::none;
    body_ = http::BodyReader(verdict.framing);
    piece.method = head.method;
    piece.target = head.target;
    piece.request_id = http::find_field(head.fields, "x-request-id").value_or("");
  } else {
    http::ResponseHead head;
    parsed = http::h1::parse_response_head(buffer_, kLimits, head);
    if (parsed.state == http::h1::HeadState::incomplete) return std::nullopt;
    opaque_ = parsed.state != http::h1::HeadState::complete || !parsed.defects.none();
    if (opaque_) return std::nullopt;
    const std::string method = expected_.empty() ? "GET" : expected_.front();
    const http::FramingVerdict verdict = http::response_framing(head, method);
    piece.interim = head.status < 200 && head.status != 101;
    const bool tunnel = head.status == 101 || (method == "CONNECT" && head.status < 300);
    opaque_ = tunnel || verdict.defect != http::FramingDefect::none;
    body_ = piece.interim ? http::BodyReader() : http::BodyReader(verdict.framing);
    if (!piece.interim && !expected_.empty()) expected_.pop_front();
  }
  piece.begins = true;
  piece.bytes = buffer_.substr(0, parsed.size);
  buffer_.erase(0, parsed.size);
  in_body_ = !opaque_ && !body_.done();
  piece.ends = !in_body_ && !opaque_;
  return piece;
}

Piece H1Splitter::next_body() {
  std::size_t used = 0;
  while (!body_.done()) {
    const auto step = body_.read(std::string_view(buffer_).substr(used));
    used += step.consumed;
    opaque_ = step.malformed;
    if (step.malformed || step.consumed == 0) break;
  }
  Piece piece;
  piece.bytes = buffer_.substr(0, used);
  buffer_.erase(0, used);
  in_body_ = !body_.done();
  piece.ends = !in_body_;
  return piece;
}

}  // namespace gatedrill::chaos
