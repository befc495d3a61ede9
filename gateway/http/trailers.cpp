#include "gateway/http/trailers.hpp"

#include <algorithm>
#include <array>

#include "gateway/http/field_kind.hpp"
#include "gateway/http/options.hpp"

namespace gatedrill::http {
namespace {

bool is_allowed(std::span<const std::string> allowed, std::string_view name) {
  return std::any_of(allowed.begin(), allowed.end(),
                     [name](const std::string& each) { return equals_ignoring_case(each, name); });
}

}  // namespace

bool may_be_trailer(std::string_view name) {
  // How a message is to be taken, beyond what is protected anyway: whoever has the header section
  // has acted on it already.
  constexpr std::array<std::string_view, 12> kControls = {
      "age",   "cache-control", "date",       "expires", "location", "pragma",
      "range", "retry-after",   "set-cookie", "vary",    "warning",  "www-authenticate"};
  const bool is_control =
      std::any_of(kControls.begin(), kControls.end(),
                  [name](std::string_view each) { return equals_ignoring_case(each, name); });
  const bool is_conditional = equals_ignoring_case(name.substr(0, 3), "if-");
  const bool is_for_proxies = equals_ignoring_case(name.substr(0, 6), "proxy-");
  return is_token(name) && name.find('_') == std::string_view::npos &&
         kind_of(name) == FieldKind::plain && !is_protected(name) && !is_control &&
         !is_conditional && !is_for_proxies;
}

void append_trailer(std::string& out, const Field& field, std::span<const std::string> allowed) {
  if (field.name.empty() || !is_allowed(allowed, field.name)) return;
  out.append(field.name).append(": ").append(field.value).append("\r\n");
}

void append_announcement(std::string& out,
                         const std::vector<Field>& fields,
                         std::span<const std::string> allowed) {
  bool begun = false;
  for (const std::string& name : allowed) {
    if (!has_token(fields, "Trailer", name)) continue;
    out.append(begun ? ", " : "trailer: ").append(name);
    begun = true;
  }
  if (begun) out.append("\r\n");
}

}  // namespace gatedrill::http
