#include "replay/redact/pseudonyms.hpp"

#include <array>
#include <cerrno>
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

Result<std::string> make_key(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return outside_error(path + ": the key cannot be written here: " + std::strerror(errno));
  }
  const std::string key = random_bytes(kNewKeyBytes);
  const bool written = write(file, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  const int code = errno;
  close(file);
  if (!written) {
    unlink(path.c_str());
    return outside_error(path + ": the key cannot be written here: " + std::strerror(code));
  }
  return key;
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
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return make_key(path);
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

}  // namespace gatedrill::replay
