// Numbers as they stand in capture files: in the byte order of the machine that wrote them.
#pragma once

#include <cstdint>
#include <cstring>

namespace gatedrill::replay::capture {

class ByteOrder {
 public:
  ByteOrder() = default;

  // `swapped`: the file's order is not this machine's.
  explicit ByteOrder(bool swapped) : swapped_(swapped) {}

  // Each reads as many bytes as its name says, of any alignment.
  [[nodiscard]] std::uint16_t u16(const char* at) const {
    const auto value = load<std::uint16_t>(at);
    return swapped_ ? __builtin_bswap16(value) : value;
  }

  [[nodiscard]] std::uint32_t u32(const char* at) const {
    const auto value = load<std::uint32_t>(at);
    return swapped_ ? __builtin_bswap32(value) : value;
  }

  [[nodiscard]] std::uint64_t u64(const char* at) const {
    const auto value = load<std::uint64_t>(at);
    return swapped_ ? __builtin_bswap64(value) : value;
  }

 private:
  template <class T>
  static T load(const char* at) {
    T value{};
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  bool swapped_ = false;
};

}  // namespace gatedrill::replay::capture
