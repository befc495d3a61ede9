// Ids for requests that bring none: unique in the world for all practical purposes, cheap, and in
// order of arrival within one gateway.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "gateway/core/random.hpp"

namespace gatedrill::gateway {

class RequestIds {
 public:
  // `seed` should differ between the gateways and starts whose ids may meet.
  explicit RequestIds(std::uint64_t seed) {
    const std::uint64_t prefix = Random(seed).next() | std::uint64_t{1} << 63U;
    number_ = std::to_chars(text_.data(), text_.data() + 16, prefix, 16).ptr;
    *number_++ = '-';
  }

  RequestIds(const RequestIds&) = delete;
  RequestIds& operator=(const RequestIds&) = delete;

  // Valid until the next call.
  std::string_view next() {
    const char* end = std::to_chars(number_, text_.data() + text_.size(), ++count_, 16).ptr;
    return {text_.data(), static_cast<std::size_t>(end - text_.data())};
  }

 private:
  std::array<char, 40> text_{};
  char* number_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace gatedrill::gateway
