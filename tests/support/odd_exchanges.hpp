// Exchanges as nobody would write them by hand: odd bytes in every place, from a seed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/random.hpp"
#include "tests/support/recorded.hpp"

namespace gatedrill::tests {

class OddExchanges {
 public:
  explicit OddExchanges(std::uint64_t seed, std::int64_t connections = 1000)
      : random_(seed), connections_(connections) {}

  replay::RecordedExchange next(std::int64_t id) {
    replay::RecordedExchange out =
        testing::recorded(id, Duration{id * 1'000'003}, id % connections_);
    out.request->method = pick({"GET", "POST", "PUT", "HEAD", "DELETE", "PROPFIND", "x-odd"});
    out.request->target = "/" + text(" \t\r\n#", 20) + "?" + text(" \t\r\n#", 10);
    out.request->fields = fields();
    out.request->body = random_.chance(0.5) ? body() : "";
    if (!out.request->body.empty()) frame(out.request->fields, out.request->body);
    out.request_end = UnixTime{out.at.ns + static_cast<std::int64_t>(random_.below(1000))};
    if (random_.chance(0.1)) {
      out.response.reset();
      return out;
    }
    replay::RecordedResponse& response = *out.response;
    response.status = pick({200, 201, 204, 304, 404, 500, 503});
    response.reason = pick({"OK", "", "Not Found", "a  b"});
    response.fields = fields();
    const bool bodiless =
        out.request->method == "HEAD" || response.status == 204 || response.status == 304;
    response.body = bodiless ? "" : body();
    if (!bodiless) frame(response.fields, response.body);
    out.response_begin = UnixTime{out.request_end->ns + 5000};
    out.response_end = UnixTime{out.response_begin->ns + 1};
    out.latency = Duration{out.response_end->ns - out.at.ns};
    return out;
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + random_.below(choices.size()));
  }

  std::string pick(std::initializer_list<const char*> choices) {
    return *(choices.begin() + random_.below(choices.size()));
  }

  std::string text(std::string_view without, std::size_t most) {
    std::string out;
    for (std::size_t size = random_.below(most + 1); out.size() < size;) {
      const char c = static_cast<char>(0x21 + random_.below(0x5e));
      if (without.find(c) == std::string_view::npos) out.push_back(c);
    }
    return out;
  }

  std::string body() {
    std::string out;
    const std::size_t pieces = random_.below(8);
    for (std::size_t i = 0; i < pieces; ++i) {
      switch (random_.below(6)) {
        case 0:
          out += "\n\xF0\x9F\x90\xB5\xF0\x9F\x99\x88\xF0\x9F\x99\x89\n";
          break;
        case 1:
          out += "0\r\n\r\n";
          break;
        case 2:
          out += "HTTP/1.1 200 OK\r\n\r\n";
          break;
        case 3:
          out += "caf\xC3\xA9 '\"$`\\";
          break;
        default:
          for (std::size_t bytes = random_.below(40); bytes > 0; --bytes)
            out.push_back(static_cast<char>(random_.below(256)));
      }
    }
    return out;
  }

  std::vector<replay::RecordedField> fields() {
    std::vector<replay::RecordedField> out = {{"Host", "shop"}};
    for (std::size_t i = random_.below(5); i > 0; --i)
      out.push_back({"X-" + text(" :\"(),/;<=>?@[\\]{}", 8) + "h", text("", 30)});
    return out;
  }

  void frame(std::vector<replay::RecordedField>& fields, const std::string& body) {
    // A body with a separator in it becomes chunked on its way, so it is from the start.
    if (random_.chance(0.5) || body.find("\xF0\x9F\x90\xB5") != std::string::npos) {
      fields.push_back({"Transfer-Encoding", "chunked"});
    } else {
      fields.push_back({"Content-Length", std::to_string(body.size())});
    }
  }

  Random random_;
  std::int64_t connections_;
};

}  // namespace gatedrill::tests
