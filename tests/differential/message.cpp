#include "tests/differential/message.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

namespace gatedrill::differential {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

// The line at `at`, without its end; moves `at` behind it. None if it has not ended.
std::optional<std::string_view> next_line(std::string_view bytes, std::size_t& at) {
  const std::size_t end = bytes.find('\n', at);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = bytes.substr(at, end - at);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at = end + 1;
  return line;
}

// False if the empty line has not come.
bool read_fields(std::string_view bytes,
                 std::size_t& at,
                 std::vector<std::pair<std::string, std::string>>& fields) {
  while (const auto line = next_line(bytes, at)) {
    if (line->empty()) return true;
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos) {
      fields.emplace_back(lower(*line), "");
    } else {
      fields.emplace_back(lower(line->substr(0, colon)), trimmed(line->substr(colon + 1)));
    }
  }
  return false;
}

void read_chunks(std::string_view bytes, std::size_t at, Message& message) {
  while (const auto line = next_line(bytes, at)) {
    const std::size_t size = std::strtoull(std::string(*line).c_str(), nullptr, 16);
    if (size == 0) {
      message.complete = read_fields(bytes, at, message.trailers);
      message.size = at;
      return;
    }
    const std::string_view data = bytes.substr(at, size);
    message.body += data;
    at += data.size();
    if (data.size() < size || !next_line(bytes, at)) return;
  }
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string Message::value(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return {};
}

std::string Message::method() const {
  return start_line.substr(0, start_line.find(' '));
}

std::string Message::target() const {
  const std::size_t from = start_line.find(' ');
  if (from == std::string::npos) return {};
  return start_line.substr(from + 1, start_line.find(' ', from + 1) - from - 1);
}

int Message::status() const {
  if (!start_line.starts_with("HTTP/")) return 0;
  return std::atoi(target().c_str());
}

Message read_message(std::string_view bytes, Kind kind, bool ended) {
  Message message;
  message.size = bytes.size();
  std::size_t at = 0;
  const auto start = next_line(bytes, at);
  if (!start) return message;
  message.start_line = *start;
  message.has_head = read_fields(bytes, at, message.fields);
  if (!message.has_head) return message;
  const int status = message.status();
  if (kind != Kind::request &&
      (kind == Kind::bodiless_response || status < 200 || status == 204 || status == 304)) {
    message.complete = true;
    message.size = at;
    return message;
  }
  if (lower(message.value("transfer-encoding")).find("chunked") != std::string::npos) {
    read_chunks(bytes, at, message);
    return message;
  }
  const std::string length = message.value("content-length");
  if (length.empty()) {
    message.complete = kind == Kind::request || ended;
    if (kind == Kind::response) message.body = bytes.substr(at);
    message.size = kind == Kind::request ? at : bytes.size();
    return message;
  }
  const std::size_t size = std::strtoull(length.c_str(), nullptr, 10);
  message.body = bytes.substr(at, size);
  message.complete = message.body.size() == size;
  message.size = at + message.body.size();
  return message;
}

std::string quoted(std::string_view bytes, std::size_t size_max) {
  const auto escaped = [](std::string_view some) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : some) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '\r') {
        text += "\\r";
      } else if (c == '\n') {
        text += "\\n";
      } else if (c == '\t') {
        text += "\\t";
      } else if (byte < 0x20 || byte >= 0x7f) {
        text += "\\x";
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
      } else {
        text += c;
      }
    }
    return text;
  };
  if (bytes.size() <= size_max) return "\"" + escaped(bytes) + "\"";
  return "\"" + escaped(bytes.substr(0, size_max / 2)) + "\" ... " + std::to_string(bytes.size()) +
         " bytes ... \"" + escaped(bytes.substr(bytes.size() - size_max / 4)) + "\"";
}

}  // namespace gatedrill::differential
