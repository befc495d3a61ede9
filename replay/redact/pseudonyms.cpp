#include "replay/redact/pseudonyms.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace gatedrill::replay {
namespace {

constexpr std::string_view kPrefix = "redacted-";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kKnownMax = 20'000;
constexpr std::size_t kKeyBytesMin = 16;
constexpr std::size_t kKeyBytesMax = 4096;
constexpr std::size_t kNewKeyBytes = 32;

bool is_pseudonym(std::string_view value) {
  return value.size() == kPrefix.size() + kDigits && value.starts_with(kPrefix) &&
         value.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

Result<std::string> read_key(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return outside_error(path + ": the key cannot be read: " + std::strerror(errno));
  std::array<char, kKeyBytesMax + 1> bytes{};
  const ssize_t size = read(file, bytes.data(), bytes.size());
  const int code = errno;
  close(file);
  if (size < 0) return outside_error(path + ": the key cannot be read: " + std::strerror(code));
  const auto length = static_cast<std::size_t>(size);
  if (length < kKeyBytesMin || length > kKeyBytesMax) {
    return usage_error(path +
                       ": is no key; a key has 16 to 4096 random bytes, and one is made where "
                       "there is no file");
  }
  return std::string(bytes.data(), length);
}

// Written apart and then linked, whole, to its place: of several programs that begin at the same
// time, all have the key of the first.
Result<std::string> make_key(const std::string& path) {
  const auto failed = [&](int code) {
    return outside_error(path + ": the key cannot be written here: " + std::strerror(code));
  };
  std::string apart = path + ".new-XXXXXX";
  const int file = mkostemp(apart.data(), O_CLOEXEC);  // for its owner alone
  if (file < 0) return failed(errno);
  const std::string key = random_bytes(kNewKeyBytes);
  const bool written = write(file, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  const bool linked = written && link(apart.c_str(), path.c_str()) == 0;
  const int code = errno;
  close(file);
  unlink(apart.c_str());
  if (linked) return key;
  if (written && code == EEXIST) return read_key(path);
  return failed(code);
}

}  // namespace

std::string Pseudonyms::of(std::string_view value) {
  if (is_pseudonym(value)) return std::string(value);
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  if (known_.size() >= kKnownMax) known_.clear();
  std::string name = std::string(kPrefix) + to_hex(digest_.of(value)).substr(0, kDigits);
  known_.emplace(value, name);
  return name;
}

Result<std::string> read_or_make_key(const std::string& path) {
  return access(path.c_str(), F_OK) != 0 && errno == ENOENT ? make_key(path) : read_key(path);
}

}  // namespace gatedrill::replay
