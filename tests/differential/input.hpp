// What is sent to every proxy, byte by byte, and what the origin behind it does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gatedrill::differential {

struct OriginScript {
  enum class After { keep, close, reset };

  struct Answer {
    std::string bytes = {};  // none: it says nothing
    After after = After::keep;
    std::string later = {};  // sent a moment after `bytes`, before `after`
    // Behind the answer's end, in one piece with its last byte: what came later might meet the next
    // request, and nobody could tell it from an answer to that.
    std::string behind = {};
  };

  // To the first requests that arrive, in this order; every further one is answered 200 "ok".
  std::vector<Answer> answers = {};
  bool early = false;  // answers once the head is there, without waiting for the body
};

struct Input {
  // What the client does once it has sent everything.
  enum class Ending {
    probe,  // sends another request on the same connection, which asks to close it
    wait,   // reads until the proxy closes
    reset,  // leaves after a moment
  };

  std::string section;
  std::string name;
  std::vector<std::string> pieces;             // a pause, or an answer, between two of them
  std::vector<std::string> methods = {"GET"};  // of its requests: an answer to HEAD has no body
  OriginScript origin = {};
  Ending ending = Ending::probe;
};

// How the bytes are sent, which must not matter.
enum class Sending { whole, byte_by_byte };

// Calls `send` with the pieces until it says no. The longest inputs go in small pieces rather than
// bytes: slow peers are another subject.
template <class Send>
bool send_pieces(std::string_view bytes, Sending sending, Send send) {
  constexpr std::size_t kLong = 8000;
  const std::size_t small = bytes.size() > kLong ? bytes.size() / 100 : 1 + bytes.size() / 1000;
  const std::size_t step = sending == Sending::whole ? bytes.size() : small;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    if (!send(bytes.substr(at, step))) return false;
  }
  return true;
}

// The request that follows every input: whoever answers it agrees where the input ended.
inline constexpr const char* kProbe =
    "GET /probe HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n";

// All of them; names are unique.
[[nodiscard]] const std::vector<Input>& all_inputs();

std::vector<Input> request_line_inputs();
std::vector<Input> host_inputs();
std::vector<Input> request_framing_inputs();
std::vector<Input> chunk_inputs();
std::vector<Input> field_inputs();
std::vector<Input> limit_inputs();
std::vector<Input> well_formed_inputs();
std::vector<Input> answer_inputs();
std::vector<Input> cause_inputs();

}  // namespace gatedrill::differential
