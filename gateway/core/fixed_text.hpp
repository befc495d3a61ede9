// A short text inside the object: trivially copyable, for request ids in events. Longer input is
// cut at N bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace gatedrill {

template <std::size_t N>
class FixedText {
  static_assert(N < 256);

 public:
  FixedText() = default;

  FixedText(std::string_view text)  // NOLINT(google-explicit-constructor): a text is a text
      : size_(static_cast<std::uint8_t>(std::min(text.size(), N))) {
    std::copy_n(text.data(), size_, bytes_.data());
  }

  FixedText(const char* text)  // NOLINT(google-explicit-constructor)
      : FixedText(std::string_view(text)) {}
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  bool operator==(const FixedText& other) const { return view() == other.view(); }

 private:
  std::uint8_t size_ = 0;
  std::array<char, N> bytes_{};
};

using RequestId = FixedText<40>;

}  // namespace gatedrill
