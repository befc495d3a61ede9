#include "replay/formats/wire_message.hpp"

#include <algorithm>

#include "gateway/http/framing.hpp"
#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/head.hpp"
#include "replay/formats/format.hpp"
#include "replay/recorded_head.hpp"

namespace gatedrill::replay::formats {
namespace {

using http::equals_ignoring_case;

// As generous as a capture.
constexpr std::size_t kHeadBytesMax = std::size_t{1024} * 1024;
constexpr http::h1::HeadLimits kLimits = {.head_bytes = kHeadBytesMax,
                                          .line_bytes = kHeadBytesMax,
                                          .fields = 8192,
                                          .target_bytes = kHeadBytesMax};

bool is_framing(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") ||
         equals_ignoring_case(name, "Transfer-Encoding");
}

// How a body is framed on the wire.
enum class Framing : std::uint8_t {
  as_named,       // the fields say it, and say it right
  length,         // with a Content-Length of ours
  chunked,        // with a Transfer-Encoding of ours
  chunked_named,  // chunked, and the fields say so
};

std::string hex(std::size_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[number % 16]);
    number /= 16;
  } while (number > 0);
  return text;
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;  // would be the last one
  out.append(hex(bytes.size())).append("\r\n").append(bytes).append("\r\n");
}

// Chunks end in the middle of each `cut_inside`. An incomplete body has no last chunk.
void append_chunked(std::string& out,
                    std::string_view body,
                    std::string_view cut_inside,
                    bool complete) {
  while (!cut_inside.empty()) {
    const std::size_t at = body.find(cut_inside);
    if (at == std::string_view::npos) break;
    const std::size_t end = at + cut_inside.size() / 2;
    append_chunk(out, body.substr(0, end));
    body.remove_prefix(end);
  }
  append_chunk(out, body);
  if (complete) out.append("0\r\n\r\n");
}

void append_fields(WireMessage& wire,
                   const std::vector<RecordedField>& fields,
                   Framing framing,
                   std::size_t body_bytes) {
  bool framed = framing == Framing::as_named || framing == Framing::chunked_named;
  const bool keep = framed;
  const auto frame = [&] {
    if (framed) return;
    framed = true;
    if (framing == Framing::length) {
      wire.bytes.append("Content-Length: ").append(std::to_string(body_bytes)).append("\r\n");
    } else {
      wire.bytes.append("Transfer-Encoding: chunked\r\n");
    }
  };
  for (const RecordedField& field : fields) {
    if (!keep && is_framing(field.name)) {
      frame();  // in the place of the first
      continue;
    }
    const bool pseudo = field.name.starts_with(':');
    if (pseudo || field.name.empty() || !on_one_line(field.name) || !on_one_line(field.value)) {
      wire.changes.fields = wire.changes.fields || !pseudo;
      continue;
    }
    wire.bytes.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  frame();
  wire.bytes.append("\r\n");
}

// "HTTP/1.1" for everything that is not 1.0.
std::string_view written_version(std::string_view version, WireChanges& changes) {
  if (version == "HTTP/1.0") return "HTTP/1.0";
  changes.version = version != "HTTP/1.1" && !version.empty();
  return "HTTP/1.1";
}

// The framing of a complete body. `named` is what the fields say.
std::optional<Framing> choose(const http::Framing& named,
                              std::string_view body,
                              std::string_view cut_inside,
                              bool http10) {
  const bool cut = !cut_inside.empty() && body.find(cut_inside) != std::string_view::npos;
  if (cut && http10) return std::nullopt;
  if (named.kind == http::BodyKind::chunked) return Framing::chunked_named;
  if (cut) return Framing::chunked;
  switch (named.kind) {
    case http::BodyKind::none:
      return body.empty() ? Framing::as_named : Framing::length;
    case http::BodyKind::length:
      return named.length == body.size() ? Framing::as_named : Framing::length;
    case http::BodyKind::until_close:
      return Framing::as_named;
    case http::BodyKind::chunked:
      break;
  }
  return Framing::chunked_named;
}

std::vector<http::Field> views_of(const std::vector<RecordedField>& fields) {
  std::vector<http::Field> views;
  views.reserve(fields.size());
  for (const RecordedField& field : fields)
    views.push_back({field.name, field.value});
  return views;
}

template <class Message>
bool write_message(WireMessage& wire,
                   const Message& message,
                   const http::Framing& named,
                   std::string_view cut_inside) {
  const bool http10 = message.version == "HTTP/1.0";
  std::optional<Framing> framing = choose(named, message.body, cut_inside, http10);
  if (!framing) return false;
  // What is missing stays missing: the framing still counts it.
  if (!is_whole(message) && *framing == Framing::length) framing = Framing::as_named;
  wire.changes.framing = *framing == Framing::length || *framing == Framing::chunked;
  wire.ends_at_close = *framing == Framing::as_named && named.kind == http::BodyKind::until_close;
  append_fields(wire, message.fields, *framing, message.body.size());
  wire.changes.trailers = !message.trailers.empty();
  if (*framing == Framing::chunked || *framing == Framing::chunked_named) {
    append_chunked(wire.bytes, message.body, cut_inside, message.complete);
  } else {
    wire.bytes.append(message.body);
  }
  return true;
}

// Reads the body behind a head; returns how many bytes it took.
template <class Message>
std::size_t read_body(std::string_view bytes,
                      const http::Framing& framing,
                      Message& message,
                      std::uint64_t& missing) {
  http::BodyReader body(framing, http::BodyReader::Strictness::lenient);
  std::size_t taken = 0;
  while (!body.done()) {
    const auto step = body.read(bytes.substr(taken));
    message.body.append(step.payload);
    taken += step.consumed;
    if (step.malformed || (step.consumed == 0 && !body.done())) break;
  }
  message.complete = body.done() || body.finish_at_close();
  if (!message.complete) missing = body.remaining();
  return message.complete ? taken : bytes.size();
}

// Bytes that merely have an empty line among them are no request. As a capture judges: the start
// line ends in a version, or is damaged but a Host is named.
bool is_request(std::string_view bytes, const http::RequestHead& head) {
  if (head.method.empty() || head.target.empty()) return false;
  bytes.remove_prefix(std::min(bytes.find_first_not_of("\r\n"), bytes.size()));
  std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view version = line.substr(line.rfind(' ') + 1);
  return version.starts_with("HTTP/") || http::find_field(head.fields, "Host");
}

// Parses a head that may lack its end; the closing it was given is in `scratch`.
struct HeadEnd {
  std::size_t size = 0;
  bool whole = true;
};

template <class Head, class Parse>
std::optional<HeadEnd> parse_head(std::string_view bytes,
                                  std::string& scratch,
                                  Head& head,
                                  http::h1::Defects& defects,
                                  Parse parse) {
  auto result = parse(bytes, kLimits, head);
  if (result.state == http::h1::HeadState::complete) {
    defects = result.defects;
    return HeadEnd{result.size, true};
  }
  if (result.state != http::h1::HeadState::incomplete) return std::nullopt;
  // Writers that count the separator's line end as the head's leave out the last one.
  for (const std::string_view end : {"\n", "\r\n\r\n"}) {
    scratch.assign(bytes).append(end);
    result = parse(scratch, kLimits, head);
    if (result.state != http::h1::HeadState::complete) continue;
    defects = result.defects;
    return HeadEnd{std::min(result.size, bytes.size()), end.size() == 1};
  }
  return std::nullopt;
}

}  // namespace

bool on_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

bool has_field(const std::vector<RecordedField>& fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(), [name](const RecordedField& field) {
    return equals_ignoring_case(field.name, name);
  });
}

void note(const WireChanges& changes, std::int64_t exchange, ExportNotes& notes) {
  if (changes.framing) notes.add("messages framed anew (Content-Length or chunked)", exchange);
  if (changes.version) notes.add("messages of HTTP/2 written as HTTP/1.1", exchange);
  if (changes.fields) notes.add("messages with fields that cannot be written", exchange);
  if (changes.trailers) notes.add("messages written without their trailers", exchange);
}

std::optional<WireMessage> to_wire(const RecordedRequest& request,
                                   std::string_view host,
                                   std::string_view cut_inside) {
  constexpr std::string_view kBreaks("\r\n\0 ", 4);
  if (request.method.empty() || request.target.empty() ||
      request.method.find_first_of(kBreaks) != std::string::npos || !on_one_line(request.target)) {
    return std::nullopt;
  }
  WireMessage wire;
  const std::string_view version = written_version(request.version, wire.changes);
  wire.bytes.append(request.method).append(" ").append(request.target).append(" ");
  wire.bytes.append(version).append("\r\n");
  const bool http1 = request.version.starts_with("HTTP/1.");
  if (!http1 && !host.empty() && on_one_line(host) && !has_field(request.fields, "Host")) {
    wire.bytes.append("Host: ").append(host).append("\r\n");  // it was :authority
  }
  const http::RequestHead head{request.method, request.target, version == "HTTP/1.0" ? 10 : 11,
                               views_of(request.fields)};
  if (!write_message(wire, request, http::request_framing(head).framing, cut_inside)) {
    return std::nullopt;
  }
  return wire;
}

std::optional<WireMessage> to_wire(const RecordedResponse& response,
                                   std::string_view method,
                                   std::string_view cut_inside) {
  constexpr int kStatusMax = 999;
  if (response.status < 100 || response.status > kStatusMax || !on_one_line(response.reason)) {
    return std::nullopt;
  }
  WireMessage wire;
  const std::string_view version = written_version(response.version, wire.changes);
  wire.bytes.append(version).append(" ").append(std::to_string(response.status)).append(" ");
  wire.bytes.append(response.reason).append("\r\n");
  const http::ResponseHead head{response.status, response.reason, version == "HTTP/1.0" ? 10 : 11,
                                views_of(response.fields)};
  if (!write_message(wire, response, http::response_framing(head, method).framing, cut_inside)) {
    return std::nullopt;
  }
  return wire;
}

std::optional<ReadRequest> read_request(std::string_view bytes) {
  http::RequestHead head;
  http::h1::Defects defects;
  std::string scratch;
  const auto end = parse_head(bytes, scratch, head, defects, http::h1::parse_request_head);
  if (!end || !is_request(bytes, head)) return std::nullopt;
  ReadRequest read;
  const http::FramingVerdict verdict = http::request_framing(head);
  RecordedRequest& request = read.message;
  request.method = head.method;
  request.target = head.target;
  request.version = version_text(head.version);
  request.fields = recorded(head.fields);
  request.defects = defect_names(defects, verdict.defect);
  read.host = requested_host(request.method, request.target, request.fields);
  const std::size_t taken =
      read_body(bytes.substr(end->size), verdict.framing, request, read.missing_bytes);
  if (!end->whole) request.complete = false;
  read.rest = bytes.substr(end->size + taken);
  return read;
}

std::optional<ReadResponse> read_response(std::string_view bytes, std::string_view method) {
  constexpr int kSwitchingProtocols = 101;
  ReadResponse read;
  for (;;) {
    http::ResponseHead head;
    http::h1::Defects defects;
    std::string scratch;
    if (!bytes.starts_with("HTTP/")) return std::nullopt;
    const auto end = parse_head(bytes, scratch, head, defects, http::h1::parse_response_head);
    if (!end || head.status < 100) return std::nullopt;
    const std::string_view behind = bytes.substr(end->size);
    if (head.status / 100 == 1 && head.status != kSwitchingProtocols &&
        behind.starts_with("HTTP/")) {
      read.informational.push_back(head.status);
      bytes = behind;
      continue;
    }
    const http::FramingVerdict verdict = http::response_framing(head, method);
    RecordedResponse& response = read.message;
    response.status = head.status;
    response.reason = head.reason;
    response.version = version_text(head.version);
    response.fields = recorded(head.fields);
    response.defects = defect_names(defects, verdict.defect);
    const std::size_t taken = read_body(behind, verdict.framing, response, read.missing_bytes);
    if (!end->whole) response.complete = false;
    read.rest = behind.substr(taken);
    return read;
  }
}

std::string requested_host(std::string_view method,
                           std::string_view target,
                           const std::vector<RecordedField>& fields) {
  const std::size_t scheme = target.find("://");
  if (scheme != std::string_view::npos && scheme < target.find_first_of("/?")) {
    const std::string_view rest = target.substr(scheme + 3);
    std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
    return std::string(authority);
  }
  const std::string_view host = value_of(fields, "Host");
  if (host.empty() && method == "CONNECT") return std::string(target);
  return std::string(host);
}

std::string protocol_of(std::string_view version) {
  if (version == "HTTP/2" || version == "HTTP/2.0") return "h2";
  if (version == "HTTP/3") return "h3";
  if (version == "HTTP/1.0") return "http/1.0";
  return "http/1.1";
}

std::string_view method_of(const RecordedExchange& exchange) {
  if (!exchange.request) return {};
  return exchange.request->method;
}

bool may_have_body(int status, std::string_view method) {
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  const bool connected = method == "CONNECT" && status / 100 == 2;
  return method != "HEAD" && status / 100 != 1 && status != kNoContent && status != kNotModified &&
         !connected;
}

}  // namespace gatedrill::replay::formats
