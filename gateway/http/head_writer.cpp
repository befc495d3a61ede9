#include "gateway/http/head_writer.hpp"

#include <algorithm>
#include <charconv>

#include "gateway/core/ascii.hpp"
#include "gateway/http/field_kind.hpp"
#include "gateway/http/trailers.hpp"

namespace gatedrill::http {
namespace {

bool same(std::string_view name, std::string_view lower_case) {
  return equals_ignoring_case(name, lower_case);
}

void append(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_number(std::string& out, std::string_view name, std::uint64_t value) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  append(out, name, {digits, static_cast<std::size_t>(end - digits)});
}

void append_framing(std::string& out, const Framing& framing, bool with_zero_length) {
  if (framing.kind == BodyKind::chunked) {
    append(out, "transfer-encoding", "chunked");
  } else if (framing.kind == BodyKind::length || with_zero_length) {
    append_number(out, "content-length", framing.length);
  }
}

void append_target(std::string& out, const RequestHead& head, std::string_view strip_prefix) {
  std::string_view target = head.target;
  if (!target.starts_with('/')) {
    const std::size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) {
      out.append(target);  // "*"
      return;
    }
    const std::size_t authority = scheme + 3;
    target.remove_prefix(std::min(target.find_first_of("/?", authority), target.size()));
    if (target.empty() && head.method == "OPTIONS") {
      out.push_back('*');  // RFC 9112 3.2.4: of the server, not of a resource
      return;
    }
  }
  if (!strip_prefix.empty() && target.starts_with(strip_prefix)) {
    target.remove_prefix(strip_prefix.size());
  }
  if (!target.starts_with('/')) out.push_back('/');
  out.append(target);
}

void append_upgrade(std::string& out, std::string_view protocol) {
  if (protocol.empty()) return;
  append(out, "connection", "upgrade");
  append(out, "upgrade", protocol);
}

// The chain of a trusted proxy's addresses, its lines joined, or nothing.
void append_chain(std::string& out, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (same(field.name, "x-forwarded-for")) out.append(field.value).append(", ");
  }
}

// One element of Forwarded (RFC 7239): addresses of IPv6 in brackets, what is no token in quotes.
void append_forwarded(std::string& out, std::string_view client, std::string_view host) {
  const bool is_v6 = client.find(':') != std::string_view::npos;
  out.append("forwarded: for=").append(is_v6 ? "\"[" : "").append(client);
  out.append(is_v6 ? "]\"" : "").append(";host=\"").append(host).append("\";proto=http\r\n");
}

void append_via(std::string& out, int version, std::string_view name) {
  if (name.empty()) return;
  out.append(version == 10 ? "via: 1.0 " : "via: 1.1 ").append(name).append("\r\n");
}

bool named_in_connection(const std::vector<Field>& fields, std::string_view name) {
  return has_token(fields, "Connection", name);
}

// Whether it is dropped whatever its kind.
bool is_dropped(const std::vector<Field>& fields,
                const Field& field,
                const RequestOptions& options) {
  if (!options.dropped_name.empty() && is_dropped_name(field.name, options.underscores))
    return true;
  return options.names_fields && named_in_connection(fields, field.name);
}

bool is_length(std::string_view value) {
  return !value.empty() && value.size() <= 19 && std::all_of(value.begin(), value.end(), is_digit);
}

void append_status_line(std::string& out, const ResponseHead& head) {
  char digits[4];
  std::to_chars(digits, digits + sizeof digits, head.status);
  const std::string_view reason = head.reason.empty() ? reason_of(head.status) : head.reason;
  out.append("HTTP/1.1 ").append(digits, 3).append(" ").append(reason).append("\r\n");
}

}  // namespace

std::size_t write_request_head(const RequestHead& head,
                               const RequestOptions& options,
                               const RequestRewrite& rewrite,
                               std::string& out) {
  out.append(head.method).append(" ");
  append_target(out, head, rewrite.strip_prefix);
  out.append(" HTTP/1.1\r\n");
  append(out, "host", rewrite.host);
  append_upgrade(out, rewrite.upgrade);
  bool proto_sent = false;
  bool host_sent = false;
  for (const Field& field : head.fields) {
    if (is_dropped(head.fields, field, options)) continue;
    switch (kind_of(field.name)) {
      case FieldKind::plain:
        append(out, field.name, field.value);
        break;
      case FieldKind::x_forwarded:
        if (!rewrite.trusts_forwarded || same(field.name, "x-forwarded-for")) break;
        append(out, field.name, field.value);
        proto_sent = proto_sent || same(field.name, "x-forwarded-proto");
        host_sent = host_sent || same(field.name, "x-forwarded-host");
        break;
      case FieldKind::forwarded:
        if (rewrite.trusts_forwarded) append(out, field.name, field.value);
        break;
      case FieldKind::max_forwards:
        // Of another method it is nobody's business here.
        if (!options.max_forwards) append(out, field.name, field.value);
        break;
      case FieldKind::hop_by_hop:
      case FieldKind::connection:
      case FieldKind::host:
      case FieldKind::length:
      case FieldKind::expect:
      case FieldKind::te:
      case FieldKind::trailer:
      case FieldKind::request_id:
      case FieldKind::attempt_count:
      case FieldKind::keep_alive:
        break;
    }
  }
  // A request that says it has no content, as a POST without any must, goes on saying so.
  const bool tells_zero = rewrite.framing.kind == BodyKind::none &&
                          find_field(head.fields, "Content-Length").has_value();
  append_framing(out, rewrite.framing, tells_zero);
  if (!rewrite.trailers.empty()) {
    if (options.takes_trailers) out.append("te: trailers\r\nconnection: te\r\n");
    if (rewrite.framing.kind == BodyKind::chunked) {
      append_announcement(out, head.fields, rewrite.trailers);
    }
  }
  if (options.max_forwards.value_or(0) > 0) {
    append_number(out, "max-forwards", *options.max_forwards - 1);
  }
  append_via(out, head.version, rewrite.via);
  if (rewrite.trusts_forwarded && options.has_forwarded) {
    append_forwarded(out, rewrite.client, rewrite.host);
  }
  out.append("x-forwarded-for: ");
  if (rewrite.trusts_forwarded) append_chain(out, head.fields);
  out.append(rewrite.client).append("\r\n");
  if (!proto_sent) append(out, "x-forwarded-proto", "http");
  if (!host_sent) append(out, "x-forwarded-host", rewrite.host);
  append(out, "x-request-id", rewrite.request_id);
  out.append("x-attempt-count: ");
  const std::size_t digit = out.size();
  out.append("1\r\n\r\n");
  return digit;
}

void write_response_head(const ResponseHead& head,
                         const ResponseOptions& options,
                         const ResponseRewrite& rewrite,
                         std::string& out) {
  append_status_line(out, head);
  bool length_told = false;
  bool date_told = rewrite.date.empty();
  for (const Field& field : head.fields) {
    if (options.names_fields && named_in_connection(head.fields, field.name)) continue;
    switch (kind_of(field.name)) {
      case FieldKind::length:
        if (rewrite.bodiless && head.status != 204 && !length_told && is_length(field.value)) {
          append(out, "content-length", field.value);
          length_told = true;
        }
        break;
      case FieldKind::hop_by_hop:
      case FieldKind::connection:
      case FieldKind::keep_alive:
      case FieldKind::te:
      case FieldKind::trailer:
        break;
      default:
        append(out, field.name, field.value);
        date_told = date_told || (field.name.size() == 4 && same(field.name, "date"));
        break;
    }
  }
  if (!date_told) append(out, "date", rewrite.date);
  if (!rewrite.bodiless) {
    append_framing(out, rewrite.framing, rewrite.framing.kind == BodyKind::none);
    if (rewrite.framing.kind == BodyKind::chunked) {
      append_announcement(out, head.fields, rewrite.trailers);
    }
  }
  append_via(out, head.version, rewrite.via);
  if (rewrite.close) {
    append(out, "connection", "close");
  } else if (rewrite.keep_alive) {
    append(out, "connection", "keep-alive");
  }
  out.append("\r\n");
}

void write_interim_head(const ResponseHead& head, std::string& out, std::string_view upgrade) {
  append_status_line(out, head);
  append_upgrade(out, upgrade);
  const bool names_fields = response_options(head).names_fields;
  for (const Field& field : head.fields) {
    if (names_fields && named_in_connection(head.fields, field.name)) continue;
    switch (kind_of(field.name)) {
      case FieldKind::hop_by_hop:
      case FieldKind::connection:
      case FieldKind::keep_alive:
      case FieldKind::length:
      case FieldKind::te:
      case FieldKind::trailer:
        break;
      default:
        append(out, field.name, field.value);
        break;
    }
  }
  out.append("\r\n");
}

std::string via_name(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (!is_token_char(c)) c = '-';
  }
  return result;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 103:
      return "Early Hints";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 205:
      return "Reset Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return {};
  }
}

}  // namespace gatedrill::http
