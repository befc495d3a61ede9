// Fields: how they are written, and which of them are for the next hop only.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {

std::vector<Input> field_inputs() {
  const std::string get = "GET / HTTP/1.1\r\nHost: shop.example\r\n";
  const std::string end = "\r\n\r\n";
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"a fold in a value", get + "X-A: a\r\n b" + end},
      {"a fold before the first field", "GET / HTTP/1.1\r\n X-A: a\r\nHost: shop.example" + end},
      {"a line of white space only", get + "X-A: a\r\n  \r\nX-B: b" + end},
      {"a space before a colon", get + "X-A : a" + end},
      {"a space inside a name", get + "X A: a" + end},
      {"a field without a colon", get + "X-A" + end},
      {"an empty name", get + ": a" + end},
      {"a name with a bracket", get + "X(A): a" + end},
      {"a name in raw UTF-8", get + "X-\xc3\xa9: a" + end},
      {"a name with an underscore", get + "X_A: a" + end},
      {"a name with a dot and a tilde", get + "X.A~: a" + end},
      {"a field that ends in LF", get + "X-A: a\nX-B: b" + end},
      {"a head that ends in LF", get + "X-A: a\n\n"},
      {"a CR inside a value", get + "X-A: a\rb" + end},
      {"a CR before CR LF", get + "X-A: a\r\r\n\r\n"},
      {"a NUL inside a value", get + std::string("X-A: a\0b", 8) + end},
      {"a control byte inside a value", get +
                                            "X-A: a\x01"
                                            "b" +
                                            end},
      {"a DEL inside a value", get +
                                   "X-A: a\x7f"
                                   "b" +
                                   end},
      {"a tab inside a value", get + "X-A: a\tb" + end},
      {"bytes of Latin-1 in a value", get + "X-A: caf\xe9" + end},
      {"an empty value", get + "X-A:" + end},
      {"a value of white space", get + "X-A: \t " + end},
      {"white space round a value", get + "X-A: \t a b \t" + end},
      {"a value with a colon", get + "X-A: a: b" + end},
      {"a field twice", get + "X-A: a\r\nx-a: b" + end},
      {"names in mixed case", get + "x-LOUD: A\r\nUSER-agent: me" + end},
      {"a field named by Connection", get + "Connection: X-A\r\nX-A: a\r\nX-B: b" + end},
      {"Host named by Connection", get + "Connection: Host" + end},
      {"Authorization named by Connection",
       get + "Connection: Authorization\r\nAuthorization: Basic YTpi" + end},
      {"X-Forwarded-For named by Connection", get + "Connection: X-Forwarded-For" + end},
      {"Connection with strange options", get + "Connection: , ,keep-alive,,\r\nX-A: a" + end},
      {"Connection: close and keep-alive", get + "Connection: close, keep-alive" + end},
      {"Keep-Alive and Proxy-Connection",
       get + "Keep-Alive: timeout=9\r\nProxy-Connection: keep-alive" + end},
      {"TE", get + "TE: trailers, gzip\r\nConnection: TE" + end},
      {"TE without Connection", get + "TE: gzip" + end},
      {"Trailer", get + "Trailer: X-Sum" + end},
      {"Proxy-Authorization", get + "Proxy-Authorization: Basic YTpi" + end},
      {"Upgrade to WebSocket without Connection", get + "Upgrade: websocket" + end},
      {"Upgrade to HTTP/2",
       get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk" +
           end},
      {"X-Forwarded-For of a client", get + "X-Forwarded-For: 6.6.6.6" + end},
      {"Forwarded of a client", get + "Forwarded: for=6.6.6.6" + end},
      {"X-Forwarded-Host and -Proto of a client",
       get + "X-Forwarded-Host: other.example\r\nX-Forwarded-Proto: https" + end},
      {"X-Real-IP of a client", get + "X-Real-IP: 6.6.6.6" + end},
      {"Via of a client", get + "Via: 1.0 elsewhere" + end},
      {"a request id of a client", get + "X-Request-Id: from-outside" + end},
      {"Cookie in two lines", get + "Cookie: a=1\r\nCookie: b=2" + end},
      {"Range", get + "Range: bytes=0-0,-1" + end},
      {"Accept-Encoding", get + "Accept-Encoding: gzip" + end},
      {"an expectation that is unknown", get + "Expect: miracles" + end},
      {"an expectation with a smuggled one", get + "Expect: y 100-continue" + end},
      {"Expect without a body", get + "Expect: 100-continue" + end},
  };
  std::vector<Input> inputs;
  for (const auto& [name, bytes] : fields)
    inputs.push_back({.section = "fields", .name = name, .pieces = {bytes}});
  return inputs;
}

}  // namespace gatedrill::differential
