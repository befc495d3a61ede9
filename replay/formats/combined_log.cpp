// One line of the combined format: from the outside in, since addresses and user names have spaces.
#include <algorithm>
#include <charconv>
#include <vector>

#include <arpa/inet.h>

#include "gateway/core/ascii.hpp"
#include "gateway/http/head.hpp"
#include "replay/formats/access_log.hpp"
#include "replay/formats/timestamps.hpp"

namespace gatedrill::replay::formats {
namespace {

bool is_address(std::string_view text) {
  std::array<unsigned char, 16> bytes{};
  const std::string address(text);
  return inet_pton(AF_INET, address.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1;
}

// The text between quotes at the beginning, still escaped, and what is behind them.
struct Quoted {
  std::string_view text;
  std::string_view rest;
};

std::optional<Quoted> quoted(std::string_view text) {
  if (!text.starts_with('"')) return std::nullopt;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return Quoted{text.substr(1, i - 1), text.substr(i + 1)};
    }
  }
  return std::nullopt;
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

void append_to_list(std::string& list, std::string_view item) {
  if (!list.empty()) list.append(", ");
  list.append(item);
}

// What stands in front of the time: [host] [addresses] address ident user.
struct Who {
  std::string host;
  std::string forwarded;  // the addresses in front of the last, as X-Forwarded-For has them
  std::string client;
  bool user_missing = false;
  bool user = false;
};

std::optional<Who> parse_who(std::string_view text) {
  Who who;
  if (const auto list = quoted(text)) {
    if (list->text != "-") who.forwarded = list->text;
    text = list->rest;
  }
  std::vector<std::string_view> words;
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text))
    words.push_back(word);
  // The ident is "-" nearly always; the address may be too, where it is not known.
  auto ident = words.empty() ? words.end() : std::find(words.begin() + 1, words.end(), "-");
  if (ident == words.end()) {
    if (words.size() < 3) return std::nullopt;
    ident = words.end() - 2;
  }
  who.user_missing = ident + 1 == words.end();
  who.user = !who.user_missing && *(ident + 1) != "-";
  const auto address = ident - 1;
  who.client = *address == "-" ? std::string_view{} : *address;
  for (auto word = words.begin(); word != address; ++word) {
    const bool listed = word->ends_with(',');
    const std::string_view item = listed ? word->substr(0, word->size() - 1) : *word;
    if (word == words.begin() && !listed && !is_address(item)) {
      who.host = item;
    } else if (!item.empty() && item != "-") {
      append_to_list(who.forwarded, item);
    }
  }
  return who;
}

// Where "[time]" begins. A user's name may hold brackets too.
struct TimeField {
  std::size_t begin = 0;
  std::size_t end = 0;  // behind its bracket
  UnixTime at{};
};

std::optional<TimeField> find_time(std::string_view line) {
  constexpr std::size_t kTimeBytes = 26;
  constexpr int kTriesMax = 16;
  std::size_t at = 0;
  for (int i = 0; i < kTriesMax; ++i, ++at) {
    at = line.find('[', at);
    if (at == std::string_view::npos) return std::nullopt;
    const std::size_t end = line.substr(0, at + kTimeBytes + 4).find(']', at);
    if (end == std::string_view::npos) continue;
    const auto time = parse_log_time(line.substr(at + 1, end - at - 1));
    if (time) return TimeField{at, end + 1, *time};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

bool is_error_line(std::string_view line) {
  // "2021/12/01 13:53:33 [error] 31#31: ..." of nginx, "[Wed Oct 11 ...] [error] ..." of Apache
  const bool nginx = line.size() > 20 && line[4] == '/' && line[7] == '/' && line[10] == ' ' &&
                     line[19] == ' ' && line[20] == '[';
  return nginx || line.starts_with('[');
}

void add_field(std::vector<RecordedField>& fields, const char* name, std::string value) {
  if (value.empty() || value == "-") return;
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  fields.push_back({name, std::move(value)});
}

}  // namespace

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char c = text[++i];
    constexpr std::string_view kLetters = "nrtbfv\"\\";
    constexpr std::string_view kBytes = "\n\r\t\b\f\v\"\\";
    if (c == 'x' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else if (const std::size_t at = kLetters.find(c); at != std::string_view::npos) {
      out.push_back(kBytes[at]);
    } else {
      out.append({'\\', c});
    }
  }
  return out;
}

std::optional<RecordedRequest> parse_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  RecordedRequest request;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, last - first - 1);
  request.version = line.substr(last + 1);
  if (!http::is_token(request.method) || request.target.empty() ||
      !request.version.starts_with("HTTP/")) {
    return std::nullopt;
  }
  if (request.version == "HTTP/2.0") request.version = "HTTP/2";
  if (request.version == "HTTP/3.0") request.version = "HTTP/3";
  return request;
}

LogVerdict parse_combined_line(std::string_view line) {
  if (is_error_line(line)) return {{}, "a line of an error log"};
  const auto time = find_time(line);
  if (!time) return {{}, "a line without a [time] of the combined format"};
  auto who = parse_who(line.substr(0, time->begin));
  if (!who) return {{}, "a line without address, ident and user in front of its time"};
  std::string_view rest = line.substr(time->end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto request_line = quoted(rest);
  if (!request_line) return {{}, "a line without a \"request\" behind its time"};
  rest = request_line->rest;
  const auto status = parse_log_status(next_word(rest));
  const std::string_view bytes = next_word(rest);
  if (!status || (bytes != "-" && !number(bytes))) {
    return {{}, "a line without status and size behind its request"};
  }
  LogEntry entry;
  entry.at = time->at;
  entry.whole_seconds = true;
  entry.client = std::move(who->client);
  entry.host = std::move(who->host);
  entry.status = *status;
  entry.response_bytes = number(bytes).value_or(0);
  entry.user_missing = who->user_missing;
  entry.user_left_out = who->user;
  entry.request = parse_request_line(unescaped(request_line->text));
  // Referer, User-Agent, and as nginx comes X-Forwarded-For.
  std::vector<std::string> texts;
  while (rest.starts_with(" \"")) {
    const auto text = quoted(rest.substr(1));
    if (!text) break;
    texts.push_back(unescaped(text->text));
    rest = text->rest;
  }
  constexpr std::size_t kWithForwarded = 3;
  texts.resize(std::max(texts.size(), kWithForwarded));
  if (entry.request) {
    std::vector<RecordedField>& fields = entry.request->fields;
    add_field(fields, "Host", entry.host);
    add_field(fields, "Referer", std::move(texts[0]));
    add_field(fields, "User-Agent", std::move(texts[1]));
    const bool listed = texts[2] != "-" && !texts[2].empty();
    add_field(fields, "X-Forwarded-For", listed ? std::move(texts[2]) : std::move(who->forwarded));
  }
  return {std::move(entry), {}};
}

}  // namespace gatedrill::replay::formats
