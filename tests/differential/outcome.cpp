#include "tests/differential/outcome.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "tests/differential/message.hpp"
#include "tests/support/raw_socket.hpp"

namespace gatedrill::differential {
namespace {

using testing::RawSocket;

constexpr std::chrono::milliseconds kPause{250};
constexpr std::chrono::seconds kLongest{6};  // more than the proxies' timeouts

// What proxies add to requests of their own accord: not part of the comparison unless the client
// sent a field of that name.
constexpr std::array kAdded = {
    "via",          "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host",
    "x-request-id", "x-attempt-count", "forwarded"};

struct Received {
  std::string bytes;
  bool ended = false;
};

Received talk(const Input& input, std::uint16_t port, Sending sending) {
  RawSocket client = RawSocket::connect(port);
  Received received;
  const auto take = [&](std::chrono::milliseconds limit) {
    client.set_read_limit(limit);
    const RawSocket::Read read = client.read();
    received.bytes += read.bytes;
    received.ended = read.fin || (read.error != 0 && read.error != EAGAIN);
    return !read.bytes.empty();
  };
  for (std::size_t piece = 0; piece < input.pieces.size(); ++piece) {
    while (piece > 0 && !received.ended && take(kPause)) {
    }
    std::string bytes = input.pieces[piece];
    const bool last = piece + 1 == input.pieces.size();
    if (last && input.ending == Input::Ending::probe) bytes += kProbe;
    const auto send = [&client](std::string_view some) { return client.send(some); };
    if (!send_pieces(bytes, sending, send)) break;
  }
  if (input.ending == Input::Ending::reset) {
    std::this_thread::sleep_for(kPause);
    client.reset();
    std::this_thread::sleep_for(kPause);
    return received;
  }
  while (!received.ended && take(kLongest)) {
  }
  return received;
}

std::string fields_text(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string text;
  for (const auto& [name, value] : fields)
    text += (text.empty() ? "" : ", ") + name + ": " + quoted(value, 40);
  return text.empty() ? "" : " {" + text + "}";
}

std::string request_text(const Input& input, const Message& request) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const auto& field : request.fields) {
    const bool added = std::find(kAdded.begin(), kAdded.end(), field.first) != kAdded.end();
    const bool sent = request.target() != "/probe" &&
                      std::any_of(input.pieces.begin(), input.pieces.end(), [&](const auto& piece) {
                        return lower(piece).find(field.first) != std::string::npos;
                      });
    if (added && !sent) continue;
    shown.push_back(field);
    // Its options have no case (RFC 9110 7.6.1).
    if (field.first == "connection") shown.back().second = lower(field.second);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (request.complete && request.start_line == "GET /probe HTTP/1.1" && request.body.empty() &&
      shown.size() == 1 && shown.front().second == "shop.example") {
    return "probe";
  }
  std::string text = quoted(request.start_line) + fields_text(shown);
  if (!request.body.empty()) text += " body " + quoted(request.body);
  if (!request.trailers.empty()) text += " trailers" + fields_text(request.trailers);
  if (!request.complete) text += " (incomplete)";
  return text;
}

std::string origin_text(const Input& input, const std::vector<Message>& requests) {
  std::string text;
  for (const Message& request : requests)
    text += (text.empty() ? "" : " + ") + request_text(input, request);
  return text.empty() ? "nothing" : text;
}

std::string answer_text(const Message& answer) {
  if (answer.status() == 0) return quoted(answer.start_line);
  std::string text = std::to_string(answer.status());
  if (const std::string cause = answer.value("x-gatedrill-cause"); !cause.empty()) {
    return text + " (" + cause + ")";
  }
  if (answer.status() >= 400) return text;
  if (answer.body == "ok" || answer.body == "probe") {
    text += " " + answer.body;
  } else {
    for (const char* name : {"content-length", "transfer-encoding"}) {
      if (const std::string value = answer.value(name); !value.empty())
        text += std::string(" ") + name + ": " + value;
    }
    if (!answer.body.empty()) text += " body " + quoted(answer.body);
  }
  for (const auto& [name, value] : answer.fields) {
    if (name.starts_with("x-origin") || name == "link" || name == "upgrade") {
      text += " " + name + ": " + quoted(value, 40);
    }
  }
  if (!answer.trailers.empty()) text += " trailers" + fields_text(answer.trailers);
  if (!answer.complete) text += " cut off";
  return text;
}

std::string client_text(const Input& input, const Received& received) {
  if (input.ending == Input::Ending::reset) return "left";
  std::vector<std::string> methods = input.methods;
  methods.emplace_back("GET");
  std::string text;
  std::string_view rest = received.bytes;
  bool probed = false;
  for (std::size_t final_answers = 0; !rest.empty();) {
    const std::string& method = methods[std::min(final_answers, methods.size() - 1)];
    const Kind kind = method == "HEAD" ? Kind::bodiless_response : Kind::response;
    const Message answer = read_message(rest, kind, received.ended);
    text += (text.empty() ? "" : ", ") + answer_text(answer);
    probed = answer.body == "probe";
    if (answer.status() >= 200) ++final_answers;
    rest.remove_prefix(answer.size);
    if (answer.status() == 101) break;
  }
  if (!rest.empty()) text += " then " + quoted(rest);
  if (text.empty()) return received.ended ? "closed without an answer" : "nothing within 6 s";
  if (!received.ended) return text + ", open";
  return probed ? text : text + ", closed";
}

}  // namespace

Outcome without_causes(Outcome outcome) {
  std::string& text = outcome.client;
  for (std::size_t at = text.find(" ("); at != std::string::npos; at = text.find(" (", at)) {
    text.erase(at, text.find(')', at) + 1 - at);
  }
  return outcome;
}

Outcome play(const Input& input,
             std::uint16_t proxy_port,
             RecordingOrigin& origin,
             Sending sending) {
  origin.begin(input.origin, sending);
  const Received received = talk(input, proxy_port, sending);
  return {.client = client_text(input, received), .origin = origin_text(input, origin.end())};
}

}  // namespace gatedrill::differential
