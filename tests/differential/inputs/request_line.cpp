// Request lines that parsers read differently.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {

std::vector<Input> request_line_inputs() {
  const std::string host = "\r\nHost: shop.example\r\n\r\n";
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"two spaces before the target", "GET  / HTTP/1.1" + host},
      {"two spaces before the version", "GET /  HTTP/1.1" + host},
      {"a tab between method and target", "GET\t/ HTTP/1.1" + host},
      {"a space before the method", " GET / HTTP/1.1" + host},
      {"a space behind the version", "GET / HTTP/1.1 " + host},
      {"a method in lower case", "get / HTTP/1.1" + host},
      {"an unknown method", "BREW / HTTP/1.1" + host},
      {"a method with a dash", "M-SEARCH / HTTP/1.1" + host},
      {"a method that is no token", "GE(T / HTTP/1.1" + host},
      {"no target", "GET HTTP/1.1" + host},
      {"no version", "GET /" + host},
      {"HTTP/0.9", "GET /\r\n"},
      {"HTTP/1.2", "GET / HTTP/1.2" + host},
      {"HTTP/2.0", "GET / HTTP/2.0" + host},
      {"HTTP/0.9 as a version", "GET / HTTP/0.9" + host},
      {"a version with two digits", "GET / HTTP/1.10" + host},
      {"a version with a leading zero", "GET / HTTP/01.1" + host},
      {"a version in lower case", "GET / http/1.1" + host},
      {"a version of another protocol", "GET / ICY/1.1" + host},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"a fragment in the target", "GET /a#b HTTP/1.1" + host},
      {"a raw byte of Latin-1 in the target", "GET /\xff HTTP/1.1" + host},
      {"raw UTF-8 in the target", "GET /caf\xc3\xa9 HTTP/1.1" + host},
      {"a control byte in the target",
       "GET /a\x01"
       "b HTTP/1.1" +
           host},
      {"a NUL in the target", std::string("GET /a\0b HTTP/1.1", 17) + host},
      {"a target without its slash", "GET a HTTP/1.1" + host},
      {"a target that is a query", "GET ?a=b HTTP/1.1" + host},
      {"a target with dots", "GET /a/../b/./c HTTP/1.1" + host},
      {"a target that climbs out", "GET /../../etc HTTP/1.1" + host},
      {"encoded dots and slashes", "GET /a%2f..%2Fb/%2e%2e/c HTTP/1.1" + host},
      {"an encoding that is none", "GET /a%zz HTTP/1.1" + host},
      {"an encoded NUL", "GET /a%00b HTTP/1.1" + host},
      {"a target with two slashes", "GET //a//b HTTP/1.1" + host},
      {"a target with brackets and bars", "GET /a|b{c}\"<d>\\^` HTTP/1.1" + host},
      {"an absolute target", "GET http://shop.example/a?b HTTP/1.1" + host},
      {"an absolute target of another host", "GET http://other.example/a HTTP/1.1" + host},
      {"an absolute target without a path", "GET http://shop.example HTTP/1.1" + host},
      {"an absolute target in upper case", "GET HTTP://SHOP.example/A HTTP/1.1" + host},
      {"an absolute target with user information",
       "GET http://user:word@shop.example/a HTTP/1.1" + host},
      {"an absolute target of another scheme", "GET ftp://shop.example/a HTTP/1.1" + host},
      {"an absolute target with a bare query", "GET http://shop.example?a HTTP/1.1" + host},
      {"an absolute target with an empty host", "GET http:///a HTTP/1.1" + host},
      {"an asterisk with OPTIONS", "OPTIONS * HTTP/1.1" + host},
      {"an asterisk with GET", "GET * HTTP/1.1" + host},
      {"OPTIONS of a path", "OPTIONS /a HTTP/1.1" + host},
      {"CONNECT", "CONNECT shop.example:443 HTTP/1.1" + host},
      {"TRACE", "TRACE /a HTTP/1.1" + host},
      {"TRACE with Max-Forwards 0",
       "TRACE /a HTTP/1.1\r\nMax-Forwards: 0\r\nHost: shop.example\r\n\r\n"},
      {"OPTIONS with Max-Forwards 3",
       "OPTIONS /a HTTP/1.1\r\nMax-Forwards: 3\r\nHost: shop.example\r\n\r\n"},
      {"an empty line before the request", "\r\nGET / HTTP/1.1" + host},
      {"three empty lines before the request", "\r\n\r\n\r\nGET / HTTP/1.1" + host},
      {"a bare LF before the request", "\nGET / HTTP/1.1" + host},
      {"a request line that ends in LF", "GET / HTTP/1.1\nHost: shop.example\r\n\r\n"},
      {"a request line that ends in CR", "GET / HTTP/1.1\rHost: shop.example\r\n\r\n"},
      {"a CR in the request line", "GET /\r HTTP/1.1" + host},
      {"a TLS handshake", std::string("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10)},
      {"bytes of no protocol", "%%%%\r\n\r\n"},
  };
  std::vector<Input> inputs;
  for (const auto& [name, bytes] : lines)
    inputs.push_back({.section = "request line", .name = name, .pieces = {bytes}});
  return inputs;
}

}  // namespace gatedrill::differential
