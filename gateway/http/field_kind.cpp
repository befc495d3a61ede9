#include "gateway/http/field_kind.hpp"

#include "gateway/http/head.hpp"

namespace gatedrill::http {
namespace {

bool same(std::string_view name, std::string_view lower_case) {
  return equals_ignoring_case(name, lower_case);
}

}  // namespace

// By length first: most names are plain and meet no comparison at all.
FieldKind kind_of(std::string_view name) {
  switch (name.size()) {
    case 2:
      if (same(name, "te")) return FieldKind::te;
      break;
    case 4:
      if (same(name, "host")) return FieldKind::host;
      break;
    case 6:
      if (same(name, "expect")) return FieldKind::expect;
      break;
    case 7:
      if (same(name, "upgrade")) return FieldKind::hop_by_hop;
      if (same(name, "trailer")) return FieldKind::trailer;
      break;
    case 9:
      if (same(name, "forwarded")) return FieldKind::forwarded;
      break;
    case 10:
      if (same(name, "connection")) return FieldKind::connection;
      if (same(name, "keep-alive")) return FieldKind::keep_alive;
      break;
    case 12:
      if (same(name, "x-request-id")) return FieldKind::request_id;
      if (same(name, "max-forwards")) return FieldKind::max_forwards;
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
  if (name.size() > 12 && same(name.substr(0, 12), "x-forwarded-")) return FieldKind::x_forwarded;
  return FieldKind::plain;
}

}  // namespace gatedrill::http
