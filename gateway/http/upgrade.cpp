#include "gateway/http/upgrade.hpp"

#include <algorithm>

namespace gatedrill::http {

std::string_view requested_upgrade(const RequestHead& head,
                                   const Framing& framing,
                                   const std::vector<std::string>& allowed) {
  if (head.method != "GET" || head.version < 11 || framing.kind != BodyKind::none) return {};
  if (!find_field(head.fields, "Upgrade") || !has_token(head.fields, "Connection", "upgrade")) {
    return {};
  }
  const auto asked_for = std::find_if(
      allowed.begin(), allowed.end(),
      [&](const std::string& protocol) { return has_token(head.fields, "Upgrade", protocol); });
  return asked_for == allowed.end() ? std::string_view{} : *asked_for;
}

bool accepts_upgrade(const ResponseHead& head, std::string_view protocol) {
  int upgrades = 0;
  bool same = false;
  for (const Field& field : head.fields) {
    if (!equals_ignoring_case(field.name, "Upgrade")) continue;
    ++upgrades;
    same = equals_ignoring_case(field.value, protocol);
  }
  return upgrades == 1 && same && has_token(head.fields, "Connection", "upgrade");
}

}  // namespace gatedrill::http
