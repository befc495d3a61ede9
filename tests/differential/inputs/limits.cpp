// What is long, and what is too long: of each limit one input within and one beyond.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {
namespace {

std::string many_fields(int count) {
  std::string fields;
  for (int i = 0; i < count; ++i)
    fields += "X-" + std::to_string(i) + ": a\r\n";
  return fields;
}

}  // namespace

std::vector<Input> limit_inputs() {
  const std::string host = "Host: shop.example\r\n";
  const std::string get = "GET / HTTP/1.1\r\n" + host;
  const std::vector<std::pair<std::string, std::string>> lengths = {
      {"a target of 4000 bytes",
       "GET /" + std::string(3999, 'a') + " HTTP/1.1\r\n" + host + "\r\n"},
      {"a target of 9000 bytes",
       "GET /" + std::string(8999, 'a') + " HTTP/1.1\r\n" + host + "\r\n"},
      {"a field of 4000 bytes", get + "X-A: " + std::string(4000, 'a') + "\r\n\r\n"},
      {"a field of 9000 bytes", get + "X-A: " + std::string(9000, 'a') + "\r\n\r\n"},
      {"a name of 4000 bytes", get + std::string(4000, 'X') + ": a\r\n\r\n"},
      {"90 fields", get + many_fields(90) + "\r\n"},
      {"150 fields", get + many_fields(150) + "\r\n"},
      {"fields of 40 KB in all",
       get + "X-A: " + std::string(8000, 'a') + "\r\nX-B: " + std::string(8000, 'b') +
           "\r\nX-C: " + std::string(8000, 'c') + "\r\nX-D: " + std::string(8000, 'd') +
           "\r\nX-E: " + std::string(8000, 'e') + "\r\n\r\n"},
      {"a body of 60 KB",
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 60000\r\n\r\n" + std::string(60000, 'a')},
      {"a body of 70 KB",
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 70000\r\n\r\n" + std::string(70000, 'a')},
      {"a chunked body of 70 KB", "POST / HTTP/1.1\r\n" + host +
                                      "Transfer-Encoding: chunked\r\n\r\n11170\r\n" +
                                      std::string(70000, 'a') + "\r\n0\r\n\r\n"},
      {"a trailer of 9000 bytes", "POST / HTTP/1.1\r\n" + host +
                                      "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: " +
                                      std::string(9000, 'a') + "\r\n\r\n"},
  };
  std::vector<Input> inputs;
  for (const auto& [name, bytes] : lengths)
    inputs.push_back({.section = "limits", .name = name, .pieces = {bytes}});
  inputs.push_back({.section = "limits",
                    .name = "a body too long that is only announced",
                    .pieces = {"POST / HTTP/1.1\r\n" + host + "Content-Length: 70000\r\n\r\n"},
                    .ending = Input::Ending::wait});
  return inputs;
}

}  // namespace gatedrill::differential
