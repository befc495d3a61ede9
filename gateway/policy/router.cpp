#include "gateway/policy/router.hpp"

#include <algorithm>

#include "gateway/http/head.hpp"

namespace gatedrill::gateway {
namespace {

// The host without its port; an IPv6 literal keeps its brackets.
std::string_view without_port(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  return host.substr(0, colon);
}

}  // namespace

Router::Router(const std::vector<RouteConfig>& routes) {
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (!routes[i].match.connect.empty()) {
      connects_.emplace_back(routes[i].match.connect, i);
      continue;
    }
    entries_.push_back({routes[i].match.host, routes[i].match.path_prefix, i});
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    if (a.host.empty() != b.host.empty()) return b.host.empty();
    return a.prefix.size() > b.prefix.size();
  });
}

std::optional<std::size_t> Router::match(std::string_view host, std::string_view path) const {
  const std::string_view name = without_port(host);
  for (const Entry& entry : entries_) {
    if (!entry.host.empty() && !http::equals_ignoring_case(entry.host, name)) continue;
    if (path.starts_with(entry.prefix)) return entry.index;
  }
  return std::nullopt;
}

std::optional<std::size_t> Router::match_connect(std::string_view target) const {
  for (const auto& [allowed, index] : connects_) {
    if (http::equals_ignoring_case(allowed, target)) return index;
  }
  return std::nullopt;
}

std::string route_name(const RouteConfig& route) {
  return route.name.empty() ? route.match.host + route.match.path_prefix : route.name;
}

}  // namespace gatedrill::gateway
