// Answers of an origin, right and wrong. The probe behind the request shows what is left of them: a
// proxy that keeps a connection with unread bytes gives them to the next request.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {
namespace {

using After = OriginScript::After;

const std::string kOk = "HTTP/1.1 200 OK\r\n";
const std::string kChunked = kOk + "Transfer-Encoding: chunked\r\n\r\n";
const std::string kPoison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";

struct Scripted {
  std::string name;
  std::string bytes;
  After after = After::keep;
  std::string later = {};
  std::string behind = {};
};

std::vector<Scripted> heads() {
  return {
      {"an answer of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer of HTTP/1.0 up to the end", "HTTP/1.0 200 OK\r\n\r\nhello", After::close},
      {"an answer of HTTP/1.0 in chunks",
       "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
       After::close},
      {"an answer of HTTP/1.2", "HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer of HTTP/2.0", "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer of another protocol", "ICY 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer without a head", "hello", After::close},
      {"a status without a reason", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello"},
      {"a status without a space behind it", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"},
      {"a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"status 099", "HTTP/1.1 099 Low\r\nContent-Length: 5\r\n\r\nhello"},
      {"status 600", "HTTP/1.1 600 High\r\nContent-Length: 5\r\n\r\nhello"},
      {"status 999", "HTTP/1.1 999 High\r\nContent-Length: 5\r\n\r\nhello"},
      {"two spaces before the status", "HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"a reason in Latin-1", "HTTP/1.1 200 caf\xe9\r\nContent-Length: 5\r\n\r\nhello"},
      {"a status line that ends in LF", "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with a fold", kOk + "X-Origin: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with a space before a colon",
       kOk + "X-Origin : a\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with a field without a colon",
       kOk + "X-Origin\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with a NUL in a value",
       kOk + std::string("X-Origin: a\0b\r\n", 15) + "Content-Length: 5\r\n\r\nhello"},
      {"an answer with a CR in a value", kOk + "X-Origin: a\rb\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with a control byte in a value", kOk + "X-Origin: a\x01"
                                                         "b\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with Latin-1 in a value",
       kOk + "X-Origin: caf\xe9\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with an empty line first", "\r\n" + kOk + "Content-Length: 5\r\n\r\nhello"},
      {"an answer with a field of 9000 bytes",
       kOk + "X-Large: " + std::string(9000, 'a') + "\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with a head of 40 KB",
       kOk + "X-A: " + std::string(8000, 'a') + "\r\nX-B: " + std::string(8000, 'a') +
           "\r\nX-C: " + std::string(8000, 'a') + "\r\nX-D: " + std::string(8000, 'a') +
           "\r\nX-E: " + std::string(8000, 'a') + "\r\nContent-Length: 5\r\n\r\nhello"},
  };
}

std::vector<Scripted> framings() {
  return {
      {"an answer with a length and chunked",
       kOk + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
      {"an answer with gzip as its coding and a length",
       kOk + "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with gzip as its coding", kOk + "Transfer-Encoding: gzip\r\n\r\nhello",
       After::close},
      {"an answer with chunked twice",
       kOk + "Transfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
      {"an answer with identity as its coding",
       kOk + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with two equal lengths",
       kOk + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"},
      {"an answer with two different lengths",
       kOk + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"},
      {"an answer with a length that repeats itself", kOk + "Content-Length: 5, 5\r\n\r\nhello"},
      {"an answer with a length with a plus", kOk + "Content-Length: +5\r\n\r\nhello"},
      {"an answer with a negative length", kOk + "Content-Length: -5\r\n\r\nhello"},
      {"an answer with a hexadecimal length", kOk + "Content-Length: 0x5\r\n\r\nhello"},
      {"an answer with a length of 2^64 + 5",
       kOk + "Content-Length: 18446744073709551621\r\n\r\nhello"},
      {"an answer with an empty length", kOk + "Content-Length:\r\n\r\nhello", After::close},
      {"an answer up to the end", kOk + "\r\nhello", After::close},
      {"an answer up to the end that is kept open", kOk + "\r\nhello"},
      {"an answer in chunks", kChunked + "5\r\nhello\r\n0\r\n\r\n"},
      {"an answer in chunks with an extension", kChunked + "5;a=b\r\nhello\r\n0\r\n\r\n"},
      {"an answer in chunks with a trailer", kChunked + "5\r\nhello\r\n0\r\nX-Sum: a\r\n\r\n"},
      {"an answer with a trailer that is a length",
       kChunked + "5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n"},
      {"an answer in chunks with a wrong size", kChunked + "5\r\nhello\r\nzz\r\n", After::keep},
      {"an answer in chunks that end in LF", kChunked + "5\nhello\n0\n\n"},
      {"an answer in chunks with a space behind a size", kChunked + "5 \r\nhello\r\n0\r\n\r\n"},
  };
}

std::vector<Scripted> bodiless() {
  return {
      {"204 with a length", "HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\n"},
      {"204 with a body", "HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nhello"},
      {"204 with a chunked body",
       "HTTP/1.1 204 None\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
      {"205 with a body", "HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nhello"},
      {"304 with a length", "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n"},
      {"304 with a body", "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", After::keep, "",
       "hello"},
      {"304 without a length, poisoned", "HTTP/1.1 304 Same\r\n\r\n", After::keep, "", kPoison},
      {"an answer and another one behind it", kOk + "Content-Length: 5\r\n\r\nhello", After::keep,
       "", kPoison},
      {"an answer and another one a moment later", kOk + "Content-Length: 5\r\n\r\nhello",
       After::keep, kPoison},
      {"an answer longer than its length", kOk + "Content-Length: 5\r\n\r\nhello", After::keep, "",
       ", you"},
      {"an answer in chunks and another one behind it", kChunked + "5\r\nhello\r\n0\r\n\r\n",
       After::keep, "", kPoison},
      {"100 that nobody asked for",
       "HTTP/1.1 100 Continue\r\n\r\n" + kOk + "Content-Length: 5\r\n\r\nhello"},
      {"102 and 103 before the answer",
       "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + kOk +
           "Content-Length: 5\r\n\r\nhello"},
      {"103 and the answer a moment later", "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
       After::keep, kOk + "Content-Length: 5\r\n\r\nhello"},
      {"103 with a length", "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" + kOk +
                                "Content-Length: 5\r\n\r\nhello"},
      {"101 that nobody asked for",
       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n"},
      {"an answer that closes", kOk + "Connection: close\r\nContent-Length: 5\r\n\r\nhello",
       After::close},
      {"an answer with fields for one hop",
       kOk + "Connection: X-Origin-Hop\r\nX-Origin-Hop: a\r\nX-Origin: b\r\nKeep-Alive: "
             "timeout=9\r\nContent-Length: 5\r\n\r\nhello"},
  };
}

}  // namespace

std::vector<Input> answer_inputs() {
  const std::string get = "GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n";
  std::vector<Input> inputs;
  for (const auto scripts : {heads, framings, bodiless}) {
    for (const Scripted& script : scripts()) {
      inputs.push_back({.section = "answers",
                        .name = script.name,
                        .pieces = {get},
                        .origin = {.answers = {{.bytes = script.bytes,
                                                .after = script.after,
                                                .later = script.later,
                                                .behind = script.behind}}}});
    }
  }
  inputs.push_back({.section = "answers",
                    .name = "an answer and another one while the connection is idle",
                    .pieces = {get, ""},
                    .origin = {.answers = {{.bytes = kOk + "Content-Length: 5\r\n\r\nhello",
                                            .after = After::keep,
                                            .later = kPoison}}}});
  inputs.push_back(
      {.section = "answers",
       .name = "HEAD with a body in its answer",
       .pieces = {"HEAD / HTTP/1.1\r\nHost: shop.example\r\n\r\n"},
       .methods = {"HEAD"},
       .origin = {.answers = {{.bytes = kOk + "Content-Length: 47\r\n\r\n", .behind = kPoison}}}});
  return inputs;
}

}  // namespace gatedrill::differential
