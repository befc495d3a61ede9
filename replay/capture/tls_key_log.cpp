#include "replay/capture/tls_key_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "gateway/core/ascii.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kRandomBytes = 32;
constexpr Duration kLookEvery = std::chrono::milliseconds(10);

// Empty if it is no hex.
std::string from_hex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) return bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

bool is_label(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return is_capital(c) || is_digit(c) || c == '_';
  });
}

std::string* place_of(TlsSecrets& secrets, std::string_view label) {
  if (label == "CLIENT_RANDOM") return &secrets.master;
  if (label == "CLIENT_EARLY_TRAFFIC_SECRET") return &secrets.client_early;
  if (label == "CLIENT_HANDSHAKE_TRAFFIC_SECRET") return &secrets.client_handshake;
  if (label == "SERVER_HANDSHAKE_TRAFFIC_SECRET") return &secrets.server_handshake;
  if (label == "CLIENT_TRAFFIC_SECRET_0") return &secrets.client_traffic;
  if (label == "SERVER_TRAFFIC_SECRET_0") return &secrets.server_traffic;
  return nullptr;
}

bool is_useful(std::string_view label) {
  TlsSecrets none;
  return place_of(none, label) != nullptr;
}

struct Line {
  bool good = true;
  std::string_view label;
  std::string random;
  std::string secret;
};

Line read_line(std::string_view text) {
  Line line;
  std::string_view rest = text;
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  line.label = take_word(rest);
  if (line.label.empty() || line.label.starts_with('#')) return {};
  line.good = is_label(line.label);
  // "RSA" lines come in several shapes and serve key exchanges that nobody offers any more.
  if (!line.good || line.label == "RSA") return line;
  line.random = from_hex(take_word(rest));
  line.secret = from_hex(take_word(rest));
  line.good = !line.random.empty() && !line.secret.empty() && take_word(rest).empty() &&
              (!is_useful(line.label) || line.random.size() == kRandomBytes);
  return line;
}

}  // namespace

KeyLog::Added KeyLog::add(std::string_view text) {
  Added added;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Line line = read_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.good) {
      if (added.bad_lines++ == 0) added.first_bad_line = number;
      continue;
    }
    if (!is_useful(line.label)) continue;
    *place_of(secrets_[std::move(line.random)], line.label) = std::move(line.secret);
    ++version_;
  }
  return added;
}

void KeyLog::look_again(UnixTime at) {
  if (at.ns >= looked_.ns && at.ns - looked_.ns < kLookEvery.count()) return;
  looked_ = at;
  look_again();
}

void KeyLog::serve_waiting(UnixTime at) {
  if (waiting_.empty()) return;
  look_again(at);
  if (std::exchange(told_, version_) == version_) return;
  std::erase_if(waiting_, [](KeyWaiter* waiter) { return !waiter->on_more_keys(); });
}

const TlsSecrets* KeyLog::find(std::string_view client_random) const {
  const auto found = secrets_.find(std::string(client_random));
  return found == secrets_.end() ? nullptr : &found->second;
}

Result<bool> KeyLogFile::open() {
  if (file_.is_open()) return true;
  std::error_code ignored;  // then opening it says what is wrong
  if (std::filesystem::is_directory(path_, ignored)) {
    return usage_error(path_ + ": is a directory; name the file that SSLKEYLOGFILE names");
  }
  file_.open(path_, std::ios::binary);
  if (file_.is_open()) return true;
  const int code = errno;
  if (code == ENOENT) return false;
  return outside_error(path_ + ": " + std::strerror(code));
}

Result<void> KeyLogFile::read_into(KeyLog& log, bool to_end) {
  const auto is_open = open();
  if (!is_open) return is_open.error();
  if (!*is_open) return outside_error(path_ + ": " + std::strerror(ENOENT));
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(offset_));
  std::string text{std::istreambuf_iterator<char>(file_), {}};
  if (!to_end) text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  offset_ += text.size();
  const KeyLog::Added added = log.add(text);
  const std::size_t bad_line = lines_ + added.first_bad_line;
  lines_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (added.bad_lines == 0) return {};
  return usage_error(path_ + ":" + std::to_string(bad_line) +
                     ": is no line of a TLS key log; expected LABEL <client random> <secret> in "
                     "hex, as SSLKEYLOGFILE makes it");
}

}  // namespace gatedrill::replay::capture
