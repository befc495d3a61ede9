#include "tests/gateway/http/wire.hpp"

#include <algorithm>
#include <cstdio>

#include "gateway/http/head_writer.hpp"
#include "gateway/http/strict.hpp"

namespace gatedrill::http::wire {
namespace {

std::string quoted(std::string_view text) {
  if (text.size() <= 60) return "'" + std::string(text) + "'";
  return "'" + std::to_string(text.size()) + " bytes'";
}

// A client's side of a connection, as a session reads it.
class RequestStream {
 public:
  explicit RequestStream(const h1::HeadLimits& limits) : limits_(limits) {}

  // `input` is all that has come and was not consumed. Returns what it consumes; nothing once it
  // needs more, or has closed.
  std::size_t read(std::string_view input) {
    if (closed_ || input.empty()) return 0;
    return in_body_ ? read_body(input) : read_head(input);
  }

  // `unread`: bytes are left over.
  [[nodiscard]] Reading finish(bool unread) {
    if (!in_body_ && !closed_ && unread) entry("...");
    if (in_body_ && !closed_) entry(told_ + " " + quoted(payload_) + " ...");
    return reading_;
  }

 private:
  void entry(const std::string& text) {
    reading_.story += (reading_.story.empty() ? "" : " | ") + text;
  }

  std::size_t refuse(const Refusal& refusal) {
    entry(std::to_string(refusal.status) + " " + std::string(refusal.reason));
    closed_ = true;
    return 0;
  }

  std::size_t read_head(std::string_view input) {
    RequestHead head;
    const h1::HeadResult parsed = h1::parse_request_head(input, limits_, head);
    if (parsed.state == h1::HeadState::incomplete && parsed.defects.none()) return 0;
    const RequestVerdict verdict = judge_request(head, parsed);
    if (verdict.refusal) return refuse(*verdict.refusal);
    const RequestOptions options = request_options(head);
    if (const auto refusal = judge_options(head, options, verdict.framing)) return refuse(*refusal);
    told_ = std::string(head.method) + " " + std::string(head.target);
    keep_ = options.keep_alive;
    RequestRewrite how;
    how.framing = verdict.framing;
    how.host = verdict.host;
    how.via = "gw";
    how.client = "10.1.1.1";
    how.request_id = "id";
    how.trailers = trailers_;
    write_request_head(head, options, how, reading_.upstream);
    body_ = BodyReader(verdict.framing);
    chunked_ = verdict.framing.kind == BodyKind::chunked;
    in_body_ = true;
    payload_.clear();
    end_body();
    return parsed.size;
  }

  std::size_t read_body(std::string_view input) {
    const BodyReader::Step step = body_.read(input);
    if (step.malformed) {
      entry(told_ + " " + quoted(payload_));
      return refuse({Cause::malformed_request, 400, "malformed_body"});
    }
    payload_ += step.payload;
    if (!step.trailer.name.empty()) told_ += " +" + std::string(step.trailer.name);
    end_body();
    return step.consumed;
  }

  void end_body() {
    if (!body_.done()) return;
    if (chunked_ && !payload_.empty()) {
      char size[24];
      std::snprintf(size, sizeof size, "%zx\r\n", payload_.size());
      reading_.upstream += size + payload_ + "\r\n";
    } else {
      reading_.upstream += payload_;
    }
    if (chunked_) reading_.upstream += "0\r\n\r\n";
    ++reading_.requests;
    entry(told_ + " " + quoted(payload_) + (keep_ ? "" : " close"));
    in_body_ = false;
    closed_ = !keep_;
  }

  h1::HeadLimits limits_;
  std::vector<std::string> trailers_;
  Reading reading_;
  bool closed_ = false;
  bool in_body_ = false;
  bool chunked_ = false;
  bool keep_ = true;
  std::string told_;
  std::string payload_;
  BodyReader body_;
};

// An upstream's side.
class ResponseStream {
 public:
  ResponseStream(std::string_view method, const h1::HeadLimits& limits)
      : limits_(limits), method_(method) {}

  std::size_t read(std::string_view input) {
    if (closed_ || input.empty()) return 0;
    if (done_) return 0;
    return in_body_ ? read_body(input) : read_head(input);
  }

  // `unread`: bytes are left over.
  [[nodiscard]] std::string finish(bool unread) {
    if (closed_) return story_;
    if (in_body_ && !done_) done_ = body_.finish_at_close();
    if (!in_body_) return story_ + "... close";
    story_ += told_ + " " + quoted(payload_) + (done_ ? "" : " cut");
    return story_ + (done_ && reusable_ && !unread ? " keep" : " close");
  }

 private:
  std::size_t refuse(const std::string& text) {
    story_ += text + " close";
    closed_ = true;
    return 0;
  }

  std::size_t read_head(std::string_view input) {
    ResponseHead head;
    const h1::HeadResult parsed = h1::parse_response_head(input, limits_, head);
    if (!parsed.defects.none()) {
      return refuse("502 " + std::string(judge_response(head, parsed, method_).malformed));
    }
    if (parsed.state == h1::HeadState::incomplete) return 0;
    if (parsed.state != h1::HeadState::complete) return refuse("502 head_too_large");
    const ResponseVerdict verdict = judge_response(head, parsed, method_);
    if (!verdict.malformed.empty()) return refuse("502 " + std::string(verdict.malformed));
    if (head.status < 200) {
      story_ += std::to_string(head.status) + " | ";
      return parsed.size;
    }
    told_ = std::to_string(head.status);
    reusable_ = verdict.reusable;
    body_ = BodyReader(verdict.framing);
    in_body_ = true;
    done_ = body_.done();
    return parsed.size;
  }

  std::size_t read_body(std::string_view input) {
    const BodyReader::Step step = body_.read(input);
    if (step.malformed) return refuse(told_ + " " + quoted(payload_) + " malformed_body");
    payload_ += step.payload;
    if (!step.trailer.name.empty()) told_ += " +" + std::string(step.trailer.name);
    done_ = body_.done();
    return step.consumed;
  }

  h1::HeadLimits limits_;
  std::string method_;
  std::string story_;
  std::string told_;
  std::string payload_;
  bool closed_ = false;
  bool in_body_ = false;
  bool done_ = false;
  bool reusable_ = false;
  BodyReader body_;
};

// Returns how much was consumed.
template <class Stream>
std::size_t feed(std::string_view bytes, Ends ends, Stream& stream) {
  ends.push_back(bytes.size());
  std::size_t used = 0;
  for (const std::size_t end : ends) {
    while (const std::size_t consumed = stream.read(bytes.substr(used, end - used)))
      used += consumed;
  }
  return used;
}

}  // namespace

Reading read_requests(std::string_view bytes, const Ends& ends, const h1::HeadLimits& limits) {
  RequestStream stream(limits);
  const std::size_t used = feed(bytes, ends, stream);
  return stream.finish(used < bytes.size());
}

std::string read_response(std::string_view bytes,
                          std::string_view method,
                          const Ends& ends,
                          const h1::HeadLimits& limits) {
  ResponseStream stream(method, limits);
  const std::size_t used = feed(bytes, ends, stream);
  return stream.finish(used < bytes.size());
}

std::vector<Ends> every_split(std::size_t size) {
  std::vector<Ends> splits;
  Ends bytewise;
  for (std::size_t end = 1; end < size; ++end) {
    splits.push_back({end});
    bytewise.push_back(end);
  }
  splits.push_back(bytewise);
  return splits;
}

}  // namespace gatedrill::http::wire
