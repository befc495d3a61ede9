#include "replay/formats/url.hpp"

namespace gatedrill::replay::formats {

bool is_https(const RecordedExchange& exchange) {
  return exchange.server.ends_with(":443");
}

std::string url_of(const RecordedExchange& exchange) {
  const std::string target = exchange.request ? exchange.request->target : "/";
  const std::size_t scheme = target.find("://");
  if (scheme != std::string::npos && scheme < target.find_first_of("/?")) return target;
  const std::string& host = exchange.host.empty() ? exchange.server : exchange.host;
  return (is_https(exchange) ? "https://" : "http://") + host +
         (target.starts_with('/') ? "" : "/") + target;
}

}  // namespace gatedrill::replay::formats
