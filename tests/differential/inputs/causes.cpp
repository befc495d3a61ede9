// The rows of the cause table that raw bytes and a scripted origin reach.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {
namespace {

using After = OriginScript::After;
using Answer = OriginScript::Answer;

const std::string kHost = "Host: shop.example\r\n";
const std::string kGet = "GET / HTTP/1.1\r\n" + kHost + "\r\n";
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string post(const std::string& body) {
  return "POST / HTTP/1.1\r\n" + kHost + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// Causes on the origin's side.
std::vector<Input> upstream_causes() {
  const std::string section = "causes";
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
  const std::string half_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello";
  const auto answered = [&](const std::string& name, const std::string& request,
                            std::vector<Answer> answers) {
    return Input{.section = section,
                 .name = name,
                 .pieces = {request},
                 .origin = {.answers = std::move(answers)}};
  };
  return {
      {.section = section,
       .name = "a connection refused",
       .pieces = {"GET /refused HTTP/1.1\r\n" + kHost + "\r\n"}},
      {.section = section,
       .name = "a connection that is never made",
       .pieces = {"GET /blackhole HTTP/1.1\r\n" + kHost + "\r\n"}},
      answered("closed before the answer", kGet,
               {{"", After::close, ""}, {"", After::close, ""}, {"", After::close, ""}}),
      answered("reset before the answer", kGet,
               {{"", After::reset, ""}, {"", After::reset, ""}, {"", After::reset, ""}}),
      answered("closed before the answer to POST", post("hello"), {{"", After::close, ""}}),
      answered("a kept connection closed before the answer to GET", kGet + kGet,
               {{kOk, After::keep, ""}, {"", After::close, ""}}),
      answered("a kept connection reset before the answer to GET", kGet + kGet,
               {{kOk, After::keep, ""}, {"", After::reset, ""}}),
      answered("a kept connection closed before the answer to POST", kGet + post("hello"),
               {{kOk, After::keep, ""}, {"", After::close, ""}}),
      {.section = section,
       .name = "a kept connection that the origin closed in between",
       .pieces = {kGet, kGet},
       .origin = {.answers = {{kOk, After::close, ""}}}},
      answered("closed inside the head of an answer", kGet,
               {{"HTTP/1.1 200 OK\r\nContent-Le", After::close, ""}}),
      answered("closed inside the body", kGet, {{half, After::close, ""}}),
      answered("reset inside the body", kGet, {{half, After::reset, ""}}),
      answered("closed inside a chunk", kGet, {{half_chunks, After::close, ""}}),
      answered("closed before the last chunk", kGet,
               {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                 After::close, ""}}),
      answered("no answer in time", kGet, {{"", After::keep, ""}}),
      answered("half a head in time", kGet, {{"HTTP/1.1 200 OK\r\n", After::keep, ""}}),
      answered("100 and no answer in time", kGet,
               {{"HTTP/1.1 100 Continue\r\n\r\n", After::keep, ""}}),
      answered("half a body in time", kGet, {{half, After::keep, ""}}),
      answered(
          "a status of 503 by the origin", kGet,
          {{"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", After::keep, ""}}),
      {.section = section,
       .name = "an answer before the body has ended, kept open",
       .pieces = {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 10\r\n\r\nhello", "hello"},
       .origin = {.answers = {{"HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n", After::keep, ""}},
                  .early = true}},
      {.section = section,
       .name = "an answer before the body has ended, and closed",
       .pieces = {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 10\r\n\r\nhello", "hello"},
       .origin = {.answers = {{"HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n", After::close,
                               ""}},
                  .early = true}},
  };
}

// Causes on the client's side.
std::vector<Input> client_causes() {
  const std::string section = "causes";
  const std::string long_post = "POST / HTTP/1.1\r\n" + kHost + "Content-Length: 10\r\n\r\nhello";
  return {
      {.section = section,
       .name = "a client that says nothing",
       .pieces = {""},
       .ending = Input::Ending::wait},
      {.section = section,
       .name = "a head that stalls",
       .pieces = {"GET / HTTP/1.1\r\nHost: shop"},
       .ending = Input::Ending::wait},
      {.section = section,
       .name = "a body that stalls",
       .pieces = {long_post},
       .ending = Input::Ending::wait},
      {.section = section,
       .name = "a chunked body that stalls",
       .pieces = {"POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel"},
       .ending = Input::Ending::wait},
      {.section = section,
       .name = "a client that is quiet after its answer",
       .pieces = {kGet},
       .ending = Input::Ending::wait},
      {.section = section,
       .name = "a second head that stalls",
       .pieces = {kGet + "GET / HT"},
       .ending = Input::Ending::wait},
      {.section = section,
       .name = "a client that leaves before the answer",
       .pieces = {kGet},
       .origin = {.answers = {{"", After::keep, ""}}},
       .ending = Input::Ending::reset},
      {.section = section,
       .name = "a client that leaves inside its body",
       .pieces = {long_post},
       .ending = Input::Ending::reset},
      {.section = section,
       .name = "a client that leaves inside its head",
       .pieces = {"GET / HTTP/1.1\r\nHost: shop"},
       .ending = Input::Ending::reset},
  };
}

}  // namespace

std::vector<Input> cause_inputs() {
  std::vector<Input> inputs = upstream_causes();
  for (Input& input : client_causes())
    inputs.push_back(std::move(input));
  return inputs;
}

}  // namespace gatedrill::differential
