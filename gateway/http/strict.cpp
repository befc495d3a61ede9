#include "gateway/http/strict.hpp"

namespace gatedrill::http {
namespace {

Refusal malformed(std::string_view reason) {
  return Refusal{Cause::malformed_request, 400, reason};
}

bool valid_host(std::string_view host) {
  for (const char c : host) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '/' || c == '?' || c == '#' || c == '@' || c == ',') {
      return false;
    }
  }
  return true;
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
  if (parsed.state == h1::HeadState::head_too_large) {
    verdict.refusal = Refusal{Cause::request_header_too_large, 431, "head_too_large"};
    return verdict;
  }
  if (parsed.state == h1::HeadState::target_too_long) {
    verdict.refusal = Refusal{Cause::uri_too_long, 414, "target_too_long"};
    return verdict;
  }
  if (!parsed.defects.none()) {
    verdict.refusal = malformed(h1::first_defect(parsed.defects));
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
  const bool keeps_alive =
      !has_token(head.fields, "Connection", "close") &&
      (head.version >= 11 || has_token(head.fields, "Connection", "keep-alive"));
  verdict.reusable =
      keeps_alive && framing.framing.kind != BodyKind::until_close && head.status != 101;
  return verdict;
}

}  // namespace gatedrill::http
