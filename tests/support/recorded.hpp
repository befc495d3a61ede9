// Recorded exchanges made by hand, for the tests of replay.
#pragma once

#include <string>
#include <utility>

#include "replay/recording.hpp"

namespace gatedrill::testing {

// GET `target` of host "shop" on a connection, answered 200 with `body`; change what matters.
inline replay::RecordedExchange recorded(std::int64_t id,
                                         Duration at,
                                         std::int64_t connection = 1,
                                         std::string target = "/",
                                         std::string body = "hello") {
  constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
  replay::RecordedExchange exchange;
  exchange.id = id;
  exchange.at = UnixTime{kStart + at.count()};
  exchange.connection = connection;
  exchange.client = "10.0.0.1:5678";
  exchange.server = "10.0.0.2:80";
  exchange.protocol = "http/1.1";
  exchange.host = "shop";
  exchange.request.emplace();
  exchange.request->method = "GET";
  exchange.request->target = std::move(target);
  exchange.request->version = "HTTP/1.1";
  exchange.request->fields = {{"Host", "shop"}};
  exchange.response.emplace();
  exchange.response->status = 200;
  exchange.response->reason = "OK";
  exchange.response->version = "HTTP/1.1";
  exchange.response->body = std::move(body);
  return exchange;
}

}  // namespace gatedrill::testing
