#include "replay/formats/url.hpp"

#include <string_view>

namespace gatedrill::replay::formats {
namespace {

bool has_scheme(std::string_view target) {
  const std::size_t scheme = target.find("://");
  return scheme != std::string_view::npos && scheme < target.find_first_of("/?");
}

}  // namespace

bool is_https(const RecordedExchange& exchange) {
  return exchange.tls.value_or(exchange.server.ends_with(":443"));
}

void note_guessed_scheme(const RecordedExchange& exchange, ExportNotes& notes) {
  const bool told = exchange.request && has_scheme(exchange.request->target);
  if (told || exchange.tls || is_https(exchange) || exchange.server.ends_with(":80")) return;
  notes.add(
      "URLs with http:// by the server's port alone (https:// is written for port 443 only where "
      "nothing says whether there was TLS)",
      exchange.id);
}

std::string url_of(const RecordedExchange& exchange) {
  const std::string target = exchange.request ? exchange.request->target : "/";
  if (has_scheme(target)) return target;
  const std::string& host = exchange.host.empty() ? exchange.server : exchange.host;
  return (is_https(exchange) ? "https://" : "http://") + host +
         (target.starts_with('/') ? "" : "/") + target;
}

}  // namespace gatedrill::replay::formats
