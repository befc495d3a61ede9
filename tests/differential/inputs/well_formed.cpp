// What RFC 9110 and 9112 allow and few clients do.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {
namespace {

const std::string kHost = "Host: shop.example\r\n";

std::vector<Input> continue_inputs() {
  const std::string head = "POST / HTTP/1.1\r\n" + kHost + "Expect: 100-continue\r\n";
  const std::string section = "well-formed";
  return {
      {.section = section,
       .name = "Expect, and the body once it is asked for",
       .pieces = {head + "Content-Length: 5\r\n\r\n", "hello"}},
      {.section = section,
       .name = "Expect, and the body at once",
       .pieces = {head + "Content-Length: 5\r\n\r\nhello"}},
      {.section = section,
       .name = "Expect with chunks",
       .pieces = {head + "Transfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n"}},
      {.section = section,
       .name = "Expect twice",
       .pieces = {head + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", "hello"}},
      {.section = section,
       .name = "Expect in HTTP/1.0",
       .pieces = {"POST / HTTP/1.0\r\n" + kHost +
                      "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
                  "hello"}},
      {.section = section,
       .name = "Expect, refused by the origin",
       .pieces = {head + "Content-Length: 5\r\n\r\n", "hello"},
       .origin = {.answers = {{.bytes = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"}},
                  .early = true}},
      {.section = section,
       .name = "Expect, and a body too long",
       .pieces = {head + "Content-Length: 70000\r\n\r\n"},
       .ending = Input::Ending::wait},
  };
}

}  // namespace

std::vector<Input> well_formed_inputs() {
  const std::string section = "well-formed";
  const std::string get = "GET / HTTP/1.1\r\n" + kHost;
  std::vector<Input> inputs = {
      {.section = section, .name = "a plain GET", .pieces = {get + "\r\n"}},
      {.section = section,
       .name = "a plain POST",
       .pieces = {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 5\r\n\r\nhello"}},
      {.section = section,
       .name = "HEAD",
       .pieces = {"HEAD / HTTP/1.1\r\n" + kHost + "\r\n"},
       .methods = {"HEAD"},
       .origin = {.answers = {{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"}}}},
      {.section = section,
       .name = "HEAD, answered in chunks",
       .pieces = {"HEAD / HTTP/1.1\r\n" + kHost + "\r\n"},
       .methods = {"HEAD"},
       .origin = {.answers = {{.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}}}},
      {.section = section,
       .name = "PUT, PATCH and DELETE in a row",
       .pieces = {"PUT /a HTTP/1.1\r\n" + kHost +
                  "Content-Length: 1\r\n\r\n1PATCH /b HTTP/1.1\r\n" + kHost +
                  "Content-Length: 1\r\n\r\n2DELETE /c HTTP/1.1\r\n" + kHost + "\r\n"}},
      {.section = section,
       .name = "three requests in a row",
       .pieces = {get + "\r\n" + get + "\r\n" + get + "\r\n"}},
      {.section = section,
       .name = "an empty line between two requests",
       .pieces = {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 5\r\n\r\nhello\r\n" + get +
                  "\r\n"}},
      {.section = section,
       .name = "a request behind one that closes",
       .pieces = {get + "Connection: close\r\n\r\n"}},
      {.section = section,
       .name = "a request behind one that closes, in upper case",
       .pieces = {get + "CONNECTION: CLOSE\r\n\r\n"}},
      {.section = section,
       .name = "a head in two pieces",
       .pieces = {"GET / HT", "TP/1.1\r\n" + kHost + "\r\n"}},
      {.section = section,
       .name = "a body in two pieces",
       .pieces = {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 10\r\n\r\nhello", "hello"}},
      {.section = section,
       .name = "chunks in pieces",
       .pieces = {"POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n5\r", "\nhel",
                  "lo\r\n0\r\n\r\n"}},
      {.section = section, .name = "HTTP/1.0", .pieces = {"GET / HTTP/1.0\r\n" + kHost + "\r\n"}},
      {.section = section,
       .name = "HTTP/1.0 with keep-alive",
       .pieces = {"GET / HTTP/1.0\r\n" + kHost + "Connection: keep-alive\r\n\r\n"}},
      {.section = section,
       .name = "HTTP/1.0 with keep-alive, answered in chunks",
       .pieces = {"GET / HTTP/1.0\r\n" + kHost + "Connection: keep-alive\r\n\r\n"},
       .origin = {.answers = {{.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                        "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}}}},
      {.section = section,
       .name = "an upgrade to WebSocket",
       .pieces =
           {get +
            "Connection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"},
       .origin = {.answers = {{.bytes = "HTTP/1.1 101 Switching Protocols\r\nConnection: "
                                        "Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-"
                                        "Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
                               .after = OriginScript::After::keep,
                               .later = "\x81\x02hi"}}},
       .ending = Input::Ending::wait},
      {.section = section,
       .name = "an upgrade that the origin does not take",
       .pieces =
           {get +
            "Connection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"}},
  };
  for (Input& input : continue_inputs())
    inputs.push_back(std::move(input));
  return inputs;
}

}  // namespace gatedrill::differential
