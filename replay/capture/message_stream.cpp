#include "replay/capture/message_stream.hpp"

#include <algorithm>
#include <array>

#include "gateway/core/ascii.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kMethodBytesMax = 32;
constexpr std::size_t kPausedBytesMax = 256 * 1024;
// A head that may as well be of another protocol is not waited for so long.
constexpr std::size_t kDamagedHeadBytesMax = 64 * 1024;
constexpr http::h1::HeadLimits kLimits = {.head_bytes = kHeadBytesMax,
                                          .line_bytes = kHeadBytesMax,
                                          .fields = 8192,
                                          .target_bytes = kHeadBytesMax};

bool is_method_char(char c) {
  return is_capital(c) || c == '-' || c == '_';
}

// The end of the head that begins with `bytes`, or 0; looks from `from` on only.
std::size_t head_end(std::string_view bytes, std::size_t from) {
  std::size_t at = from;
  while ((at = bytes.find('\n', at)) != std::string_view::npos) {
    const std::string_view rest = bytes.substr(at + 1, 2);
    if (rest.starts_with('\n')) return at + 2;
    if (rest == "\r\n") return at + 3;
    ++at;
  }
  return 0;
}

bool is_known_method(std::string_view method) {
  constexpr std::array<std::string_view, 9> kMethods = {
      "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  return std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end();
}

bool is_target_begin(std::string_view target) {
  return target.starts_with('/') || target.starts_with("http://") || target.starts_with("https://");
}

std::size_t empty_lines(std::string_view bytes) {
  std::size_t size = 0;
  while (size < bytes.size() && (bytes[size] == '\r' || bytes[size] == '\n'))
    ++size;
  return size;
}

}  // namespace

// method SP target SP HTTP/1.x. Version 2's preface has the same shape and is something else.
Start request_start(std::string_view bytes, bool in_step) {
  const std::size_t space = bytes.substr(0, kMethodBytesMax + 1).find(' ');
  const std::string_view method = bytes.substr(0, std::min(space, kMethodBytesMax + 1));
  const auto fits = in_step ? http::is_token_char : is_method_char;
  if (!std::all_of(method.begin(), method.end(), fits)) return Start::no;
  if (space == std::string_view::npos) {
    return bytes.size() > kMethodBytesMax ? Start::no : Start::more;
  }
  if (space == 0) return Start::no;
  const std::size_t end = bytes.substr(0, kHeadBytesMax).find('\n');
  if (end == std::string_view::npos) {
    if (bytes.find('\0') != std::string_view::npos) return Start::no;
    if (bytes.size() < kHeadBytesMax) return Start::more;
    // Longer than any head that is kept: it is told by its beginning alone.
    return is_known_method(method) && is_target_begin(bytes.substr(space + 1)) ? Start::yes
                                                                               : Start::no;
  }
  std::string_view line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  constexpr std::size_t kVersionBytes = 9;  // " HTTP/1.1"
  if (line.size() < space + kVersionBytes + (in_step ? 0 : 2)) return Start::no;
  const std::string_view version = line.substr(line.size() - kVersionBytes);
  const bool http = version.starts_with(" HTTP/") && is_digit(version[6]) && version[7] == '.' &&
                    is_digit(version[8]) && version[6] < '2';
  return http ? Start::yes : Start::no;
}

Start damaged_request_start(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  const bool text = std::all_of(line.begin(), line.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (!text || line.empty() || bytes.size() > kDamagedHeadBytesMax) return Start::no;
  const std::size_t end = head_end(bytes, 0);
  if (end == 0) return Start::more;
  std::string_view head = bytes.substr(0, end);
  constexpr std::string_view kHost = "Host:";
  for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n')) {
    head.remove_prefix(at + 1);
    if (http::equals_ignoring_case(head.substr(0, kHost.size()), kHost)) return Start::yes;
  }
  return Start::no;
}

Start response_start(std::string_view bytes) {
  constexpr std::string_view kShape = "HTTP/1.1 200";
  constexpr std::string_view kDigits = "0123456789";
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (i == bytes.size()) return Start::more;
    const bool digit = kDigits.find(kShape[i]) != std::string_view::npos;
    if (digit ? !is_digit(bytes[i]) : bytes[i] != kShape[i]) return Start::no;
  }
  return bytes[5] < '2' ? Start::yes : Start::no;
}

// Whether a message certainly begins here, so that nothing before it belongs to it.
bool MessageStream::begins_message(std::string_view bytes) const {
  if (kind_ == MessageKind::response) return response_start(bytes) == Start::yes;
  return request_start(bytes, false) == Start::yes &&
         is_known_method(bytes.substr(0, bytes.find(' ')));
}

void MessageStream::push(std::string_view bytes, UnixTime at) {
  if (state_ == State::tunnel) {
    ledger_.tunnel.add(bytes.size());
    return;
  }
  if (state_ == State::lost && !held_.empty() && begins_message(bytes)) drop_held(lost_by_, at);
  at_segment_begin_ = true;
  if (held_.empty()) {
    held_at_ = at;
    const std::size_t consumed = process(bytes, at);
    if (consumed < bytes.size()) hold(std::string(bytes.substr(consumed)));
  } else {
    // Taken out, since a tunnel that begins on the way takes what is held.
    std::string all = std::move(held_);
    budget_.now -= all.size();
    held_.clear();
    all.append(bytes);
    all.erase(0, process(all, at));
    hold(std::move(all));
  }
  if (held_.empty() || state_ == State::stopped) return;
  if (state_ == State::tunnel || (paused_ && held_.size() > kPausedBytesMax)) {
    become_tunnel();
  } else if (budget_.now > budget_.max) {
    drop_held(LossReason::memory_limit, at);
    lose_message(LossReason::memory_limit, 0, at);
    paused_ = false;
  }
}

void MessageStream::hold(std::string bytes) {
  budget_.now += bytes.size() - held_.size();
  held_ = std::move(bytes);
}

void MessageStream::drop_held(LossReason reason, UnixTime at) {
  if (held_.empty()) return;
  skip(held_, reason, at);
  hold({});
}

std::size_t MessageStream::process(std::string_view bytes, UnixTime at) {
  std::size_t done = 0;
  while (done < bytes.size() && !paused_) {
    const std::string_view rest = bytes.substr(done);
    const State before = state_;
    std::size_t consumed = 0;
    switch (state_) {
      case State::start:
      case State::lost:
        consumed = read_start(rest, at);
        break;
      case State::head:
        consumed = read_head(rest, at);
        break;
      case State::body:
        consumed = read_body(rest, at);
        break;
      case State::tunnel:
      case State::stopped:
        return done;
    }
    if (consumed == 0 && state_ == before) break;
    if (consumed == 0) continue;
    done += consumed;
    at_segment_begin_ = false;
    held_at_ = at;
  }
  return done;
}

std::size_t MessageStream::read_start(std::string_view bytes, UnixTime at) {
  // A server or client may send a line end too many behind a body.
  const std::size_t blank = empty_lines(bytes);
  if (blank > 0) {
    if (state_ == State::lost) return skip(bytes.substr(0, blank), lost_by_, at);
    ledger_.http.bytes += blank;
    return blank;
  }
  // Out of step, only the first bytes of a segment are trusted to be a start line.
  if (state_ == State::lost && !at_segment_begin_) {
    return skip(bytes, lost_by_, at);
  }
  Start start = kind_ == MessageKind::request ? request_start(bytes, state_ == State::start)
                                              : response_start(bytes);
  if (start == Start::no && kind_ == MessageKind::request && state_ == State::start) {
    start = damaged_request_start(bytes);
  }
  switch (start) {
    case Start::yes:
      state_ = State::head;
      scanned_ = 0;
      return 0;
    case Start::more:
      return 0;
    case Start::no:
      break;
  }
  if (state_ == State::start) {
    state_ = State::lost;
    lost_by_ = LossReason::not_a_message;
  }
  return skip(bytes, lost_by_, at);
}

std::size_t MessageStream::read_head(std::string_view bytes, UnixTime at) {
  const std::size_t end = head_end(bytes, scanned_);
  if (end == 0) {
    // The end may be split behind the last three bytes.
    scanned_ = std::max<std::size_t>(bytes.size(), 4) - 3;
    if (bytes.size() <= kHeadBytesMax) return 0;
    state_ = State::lost;
    lost_by_ = LossReason::head_too_large;
    return skip(bytes, LossReason::head_too_large, at);
  }
  const std::string_view head_bytes = bytes.substr(0, end);
  http::Framing framing;
  http::h1::HeadResult result;
  body_doubtful_ = false;
  if (kind_ == MessageKind::request) {
    http::RequestHead head;
    result = http::h1::parse_request_head(head_bytes, kLimits, head);
    if (result.state == http::h1::HeadState::complete) {
      framing = listener_.on_request(head, result.defects, held_at_);
    }
  } else {
    http::ResponseHead head;
    result = http::h1::parse_response_head(head_bytes, kLimits, head);
    if (result.state == http::h1::HeadState::complete) {
      framing = listener_.on_response(head, result.defects, held_at_);
    }
  }
  if (result.state != http::h1::HeadState::complete) {
    state_ = State::lost;
    lost_by_ = LossReason::head_too_large;
    return skip(bytes, LossReason::head_too_large, at);
  }
  ledger_.http.add(result.size);
  framing_ = framing.kind;
  body_ = http::BodyReader(framing, http::BodyReader::Strictness::lenient);
  holed_ = false;
  scanned_ = 0;
  if (state_ == State::tunnel || state_ == State::stopped) return result.size;
  state_ = State::body;
  if (body_.done()) {
    state_ = State::start;
    listener_.on_message_end(kind_, at);
  }
  return result.size;
}

std::size_t MessageStream::read_body(std::string_view bytes, UnixTime at) {
  if (body_doubtful_) {
    const Start next = response_start(bytes);
    if (next == Start::more) return 0;
    body_doubtful_ = false;
    if (next == Start::yes) {
      state_ = State::start;
      listener_.on_message_end(kind_, at);
      return 0;
    }
  }
  const auto step = body_.read(bytes);
  if (step.malformed) {
    lose_message(LossReason::malformed_framing, 0, at);
    return skip(bytes, LossReason::malformed_framing, at);
  }
  ledger_.http.bytes += step.consumed;
  if (!step.payload.empty() && !holed_) listener_.on_body(kind_, step.payload);
  if (!step.trailer.name.empty() && !holed_) listener_.on_trailer(kind_, step.trailer);
  if (body_.done()) {
    state_ = State::start;
    if (!holed_) listener_.on_message_end(kind_, at);
    holed_ = false;
  }
  return step.consumed;
}

std::size_t MessageStream::skip(std::string_view bytes, LossReason reason, UnixTime at) {
  ledger_.skipped.add(bytes.size());
  listener_.on_skipped(kind_, reason, bytes.size(), at);
  return bytes.size();
}

void MessageStream::lose_message(LossReason reason, std::uint64_t missing, UnixTime at) {
  const bool cut = state_ == State::body && !holed_;
  state_ = State::lost;
  lost_by_ = reason;
  holed_ = false;
  if (cut) listener_.on_message_cut(kind_, reason, missing, at);
}

bool MessageStream::head_lies_in(std::uint64_t gap_bytes) const {
  if (gap_bytes == 0) return false;
  const bool behind_body = state_ == State::body && framing_ == http::BodyKind::length &&
                           held_.empty() && gap_bytes > body_.remaining();
  return state_ == State::start || state_ == State::head || behind_body;
}

bool MessageStream::gap(std::uint64_t bytes, LossReason reason, UnixTime at) {
  if (state_ == State::tunnel) return true;
  const bool in_body = state_ == State::body;
  if (in_body && held_.empty() && framing_ == http::BodyKind::until_close) {
    if (!holed_) listener_.on_message_cut(kind_, reason, bytes, at);
    holed_ = true;
    return true;
  }
  if (in_body && held_.empty() && body_.remaining() >= bytes) {
    // The gap lies within data whose length is known. What is missing is read as zeros, to stay
    // in step, and thrown away.
    if (!holed_) listener_.on_message_cut(kind_, reason, bytes, at);
    holed_ = true;
    constexpr std::array<char, 4096> kZeros{};
    for (std::uint64_t left = bytes; left > 0;) {
      const std::string_view zeros(kZeros.data(), std::min<std::uint64_t>(left, kZeros.size()));
      left -= body_.read(zeros).consumed;
    }
    if (body_.done()) {
      state_ = State::start;
      holed_ = false;
    }
    return true;
  }
  drop_held(reason, at);
  lose_message(reason, bytes, at);
  state_ = State::lost;
  lost_by_ = reason;
  scanned_ = 0;
  return false;
}

void MessageStream::end(UnixTime at) {
  if (state_ != State::body || !held_.empty() || !body_.finish_at_close()) return;
  state_ = State::start;
  if (!holed_) listener_.on_message_end(kind_, at);
  holed_ = false;
}

void MessageStream::close(LossReason reason, UnixTime at) {
  drop_held(reason, at);
  if (state_ != State::tunnel) lose_message(reason, body_.remaining(), at);
}

void MessageStream::resume(UnixTime at) {
  if (!paused_) return;
  paused_ = false;
  if (held_.empty()) return;
  const std::string held = held_;
  hold({});
  push(held, held_at_ == UnixTime{} ? at : held_at_);
}

void MessageStream::become_tunnel() {
  paused_ = false;
  state_ = State::tunnel;
  if (!held_.empty()) ledger_.tunnel.add(held_.size());
  hold({});
}

std::string MessageStream::take_held() {
  std::string held = held_;
  hold({});
  return held;
}

}  // namespace gatedrill::replay::capture
