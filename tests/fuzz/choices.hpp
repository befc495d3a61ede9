// A fuzz input as a source of decisions: one byte each, and zero once there are no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gatedrill::fuzz {

class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }

  // From 0 to limit - 1; limit at most 256.
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : byte() % limit; }

  // False at the end of the input, for every probability below 1.
  bool chance(double probability) { return byte() > 255 - probability * 256; }

  // The next bytes; fewer at the end of the input.
  std::string_view take(std::size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  [[nodiscard]] std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace gatedrill::fuzz
