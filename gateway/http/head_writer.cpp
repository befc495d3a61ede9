#include "gateway/http/head_writer.hpp"

#include <algorithm>
#include <charconv>

namespace gatedrill::http {
namespace {

// What becomes of a field.
enum class FieldKind {
  plain,       // passes
  hop_by_hop,  // ends here
  connection,
  host,
  length,
  expect,
  forwarded,  // X-Forwarded-*
  request_id,
  attempt_count,
  keep_alive,
};

bool same(std::string_view name, std::string_view lower_case) {
  return equals_ignoring_case(name, lower_case);
}

// By length first: most names are plain and meet no comparison at all.
FieldKind kind_of(std::string_view name) {
  switch (name.size()) {
    case 2:
      if (same(name, "te")) return FieldKind::hop_by_hop;
      break;
    case 4:
      if (same(name, "host")) return FieldKind::host;
      break;
    case 6:
      if (same(name, "expect")) return FieldKind::expect;
      break;
    case 7:
      if (same(name, "upgrade") || same(name, "trailer")) return FieldKind::hop_by_hop;
      break;
    case 10:
      if (same(name, "connection")) return FieldKind::connection;
      if (same(name, "keep-alive")) return FieldKind::keep_alive;
      break;
    case 12:
      if (same(name, "x-request-id")) return FieldKind::request_id;
      break;
    case 14:
      if (same(name, "content-length")) return FieldKind::length;
      break;
    case 15:
      if (same(name, "x-attempt-count")) return FieldKind::attempt_count;
      break;
    case 16:
      if (same(name, "proxy-connection")) return FieldKind::hop_by_hop;
      break;
    case 17:
      if (same(name, "transfer-encoding")) return FieldKind::hop_by_hop;
      break;
    default:
      break;
  }
  if (name.size() > 12 && same(name.substr(0, 12), "x-forwarded-")) return FieldKind::forwarded;
  return FieldKind::plain;
}

// Calls `use` for every element of a comma-separated list.
template <class Use>
void for_each_element(std::string_view list, Use use) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view element = list.substr(0, comma);
    while (!element.empty() && (element.front() == ' ' || element.front() == '\t'))
      element.remove_prefix(1);
    while (!element.empty() && (element.back() == ' ' || element.back() == '\t'))
      element.remove_suffix(1);
    if (!element.empty()) use(element);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// Fields that every hop needs, or on which access is decided: an option that would have them
// dropped on the way is an attack (gateway reference 2.8).
bool is_protected(std::string_view name) {
  return same(name, "host") || same(name, "content-length") || same(name, "authorization") ||
         same(name, "x-request-id") ||
         (name.size() >= 12 && same(name.substr(0, 12), "x-forwarded-"));
}

// Options of Connection that name no field.
bool is_plain_option(std::string_view option) {
  return same(option, "close") || same(option, "keep-alive");
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

void append_target(std::string& out, std::string_view target, std::string_view strip_prefix) {
  if (!target.starts_with('/')) {
    const std::size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) {
      out.append(target);  // "*"
      return;
    }
    const std::size_t authority = scheme + 3;
    target.remove_prefix(std::min(target.find_first_of("/?", authority), target.size()));
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

bool named_in_connection(const std::vector<Field>& fields, std::string_view name) {
  return has_token(fields, "Connection", name);
}

// Whether it is dropped whatever its kind: names with underscores read as dashes elsewhere.
bool is_dropped(const std::vector<Field>& fields, const Field& field, bool names_fields) {
  if (field.name.find('_') != std::string_view::npos) return true;
  return names_fields && named_in_connection(fields, field.name);
}

bool is_length(std::string_view value) {
  return !value.empty() && value.size() <= 19 &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void append_status_line(std::string& out, const ResponseHead& head) {
  char digits[4];
  std::to_chars(digits, digits + sizeof digits, head.status);
  const std::string_view reason = head.reason.empty() ? reason_of(head.status) : head.reason;
  out.append("HTTP/1.1 ").append(digits, 3).append(" ").append(reason).append("\r\n");
}

}  // namespace

RequestOptions request_options(const RequestHead& head) {
  RequestOptions options;
  bool close = false;
  bool keep_alive = false;
  for (const Field& field : head.fields) {
    switch (kind_of(field.name)) {
      case FieldKind::connection:
        for_each_element(field.value, [&](std::string_view option) {
          close = close || same(option, "close");
          keep_alive = keep_alive || same(option, "keep-alive");
          if (!is_plain_option(option)) options.names_fields = true;
          if (is_protected(option)) options.protected_option = option;
        });
        break;
      case FieldKind::expect:
        if (same(field.value, "100-continue")) {
          options.expects_continue = head.version >= 11;
        } else {
          options.refused_expectation = field.value.empty() ? field.name : field.value;
        }
        break;
      case FieldKind::request_id:
        if (options.request_id.empty()) options.request_id = field.value;
        break;
      default:
        break;
    }
  }
  options.keep_alive = head.version >= 11 ? !close : keep_alive && !close;
  return options;
}

std::size_t write_request_head(const RequestHead& head,
                               const RequestOptions& options,
                               const RequestRewrite& rewrite,
                               std::string& out) {
  out.append(head.method).append(" ");
  append_target(out, head.target, rewrite.strip_prefix);
  out.append(" HTTP/1.1\r\n");
  append(out, "host", rewrite.host);
  append_upgrade(out, rewrite.upgrade);
  bool proto_sent = false;
  bool host_sent = false;
  for (const Field& field : head.fields) {
    if (is_dropped(head.fields, field, options.names_fields)) continue;
    switch (kind_of(field.name)) {
      case FieldKind::plain:
        append(out, field.name, field.value);
        break;
      case FieldKind::forwarded:
        if (!rewrite.trusts_forwarded || same(field.name, "x-forwarded-for")) break;
        append(out, field.name, field.value);
        proto_sent = proto_sent || same(field.name, "x-forwarded-proto");
        host_sent = host_sent || same(field.name, "x-forwarded-host");
        break;
      case FieldKind::hop_by_hop:
      case FieldKind::connection:
      case FieldKind::host:
      case FieldKind::length:
      case FieldKind::expect:
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
  out.append("via: 1.1 ").append(rewrite.via).append("\r\nx-forwarded-for: ");
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

ResponseOptions response_options(const ResponseHead& head) {
  ResponseOptions options;
  for (const Field& field : head.fields) {
    const FieldKind kind = kind_of(field.name);
    if (kind == FieldKind::connection) {
      for_each_element(field.value, [&](std::string_view option) {
        if (!is_plain_option(option)) options.names_fields = true;
      });
    } else if (kind == FieldKind::keep_alive) {
      for_each_element(field.value, [&](std::string_view parameter) {
        if (parameter.size() <= 8 || !same(parameter.substr(0, 8), "timeout=")) return;
        const std::string_view digits = parameter.substr(8);
        std::uint32_t seconds = 0;
        const char* end = digits.data() + digits.size();
        const auto [rest, error] = std::from_chars(digits.data(), end, seconds);
        if (rest == end && error == std::errc{}) {
          options.keep_alive_timeout = std::chrono::seconds{seconds};
        }
      });
    }
  }
  return options;
}

void write_response_head(const ResponseHead& head,
                         const ResponseOptions& options,
                         const ResponseRewrite& rewrite,
                         std::string& out) {
  append_status_line(out, head);
  bool length_told = false;
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
        break;
      default:
        append(out, field.name, field.value);
        break;
    }
  }
  if (!rewrite.bodiless) {
    append_framing(out, rewrite.framing, rewrite.framing.kind == BodyKind::none);
  }
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
  for (const Field& field : head.fields) {
    const FieldKind kind = kind_of(field.name);
    if (kind == FieldKind::hop_by_hop || kind == FieldKind::connection ||
        kind == FieldKind::keep_alive || kind == FieldKind::length) {
      continue;
    }
    append(out, field.name, field.value);
  }
  out.append("\r\n");
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
