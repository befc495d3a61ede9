#include "gateway/http/strict.hpp"

#include <algorithm>

#include "gateway/core/ascii.hpp"

namespace gatedrill::http {
namespace {

Refusal malformed(std::string_view reason, int status = 400) {
  return Refusal{Cause::malformed_request, status, reason};
}

// Characters of a registered name (RFC 3986 3.2.2), but for the comma, at which lists are split.
bool is_name_char(char c) {
  return is_digit(c) || is_letter(c) ||
         std::string_view("-._~!$&'()*+;=").find(c) != std::string_view::npos;
}

bool valid_name(std::string_view name) {
  while (!name.empty()) {
    std::size_t size = 1;
    if (name.front() == '%') {
      size = 3;
      if (name.size() < size || hex_digit(name[1]) < 0 || hex_digit(name[2]) < 0) return false;
    } else if (!is_name_char(name.front())) {
      return false;
    }
    name.remove_prefix(size);
  }
  return true;
}

// host [ ":" port ]; may be empty, which names nobody.
bool valid_host(std::string_view host) {
  std::size_t end = host.find(':');
  if (host.starts_with('[')) {
    const std::size_t bracket = host.find(']');
    if (bracket == std::string_view::npos || bracket == 1) return false;
    const std::string_view address = host.substr(1, bracket - 1);
    if (address.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) {
      return false;
    }
    end = bracket + 1;
    if (end < host.size() && host[end] != ':') return false;
  } else if (!valid_name(host.substr(0, end))) {
    return false;
  }
  if (end >= host.size()) return true;
  const std::string_view port = host.substr(end + 1);
  return port.size() <= 5 && std::all_of(port.begin(), port.end(), is_digit);
}

// The authority of an absolute-form target of a scheme that we speak; empty for all others.
std::string_view authority_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    return target.substr(0, target.find_first_of("/?"));
  }
  return {};
}

std::optional<Refusal> judge_host(const RequestHead& head, std::string_view& host) {
  int hosts = 0;
  for (const Field& field : head.fields) {
    if (field.name.size() == 4 && equals_ignoring_case(field.name, "Host")) {
      ++hosts;
      host = field.value;
    }
  }
  if (hosts > 1) return malformed("repeated_host");
  if (hosts == 0 && head.version >= 11) return malformed("missing_host");
  if (!valid_host(host)) return malformed("bad_host");
  if (const std::string_view authority = authority_of(head.target); !authority.empty()) {
    if (!valid_host(authority)) return malformed("bad_target");
    host = authority;
  } else if (!head.target.starts_with('/') && head.method != "CONNECT" &&
             !(head.target == "*" && head.method == "OPTIONS")) {
    return malformed("bad_target");
  }
  return std::nullopt;
}

}  // namespace

RequestVerdict judge_request(const RequestHead& head, const h1::HeadResult& parsed) {
  RequestVerdict verdict;
  if (!parsed.defects.none()) {
    verdict.refusal = malformed(h1::first_defect(parsed.defects));
    return verdict;
  }
  if (parsed.state == h1::HeadState::head_too_large) {
    verdict.refusal = Refusal{Cause::request_header_too_large, 431, "head_too_large"};
    return verdict;
  }
  if (parsed.state == h1::HeadState::target_too_long) {
    verdict.refusal = Refusal{Cause::uri_too_long, 414, "target_too_long"};
    return verdict;
  }
  const FramingVerdict framing = request_framing(head);
  if (framing.defect != FramingDefect::none) {
    verdict.refusal = malformed(to_string(framing.defect));
    if (framing.defect == FramingDefect::unknown_coding) verdict.refusal->status = 501;
    return verdict;
  }
  verdict.framing = framing.framing;
  verdict.refusal = judge_host(head, verdict.host);
  return verdict;
}

std::optional<Refusal> judge_options(const RequestHead& head,
                                     const RequestOptions& options,
                                     const Framing& framing) {
  if (head.method == "CONNECT") return malformed("connect", 405);
  if (head.method == "TRACE" && framing.kind != BodyKind::none) return malformed("trace_body");
  if (!options.protected_option.empty()) return malformed("protected_connection_option");
  if (options.underscores == UnderscoreNames::refuse && !options.dropped_name.empty()) {
    return malformed("underscore_name");
  }
  if (options.bad_max_forwards) return malformed("bad_max_forwards");
  if (!options.refused_expectation.empty()) return malformed("unknown_expectation", 417);
  return std::nullopt;
}

ResponseVerdict judge_response(const ResponseHead& head,
                               const h1::HeadResult& parsed,
                               std::string_view request_method) {
  ResponseVerdict verdict;
  if (!parsed.defects.none()) {
    verdict.malformed = h1::first_defect(parsed.defects);
    return verdict;
  }
  const FramingVerdict framing = response_framing(head, request_method);
  if (framing.defect != FramingDefect::none) {
    verdict.malformed = to_string(framing.defect);
    return verdict;
  }
  verdict.framing = framing.framing;
  bool ends_for_all = verdict.framing.kind != BodyKind::until_close && head.status != 101;
  if (head.status < 200 || head.status == 204 || head.status == 205) {
    // No body, whatever the fields say. What they announce may still come, or be waited for by
    // another reader.
    verdict.framing = Framing{};
    const std::string_view length = find_field(head.fields, "Content-Length").value_or("0");
    const bool announces = length.find_first_not_of('0') != std::string_view::npos ||
                           find_field(head.fields, "Transfer-Encoding").has_value();
    if (announces && head.status < 200) {
      verdict.malformed = "framed_interim";
      return verdict;
    }
    ends_for_all = ends_for_all && !announces;
  }
  const bool keeps_alive =
      !has_token(head.fields, "Connection", "close") &&
      (head.version >= 11 || has_token(head.fields, "Connection", "keep-alive"));
  verdict.reusable = keeps_alive && ends_for_all;
  return verdict;
}

}  // namespace gatedrill::http
