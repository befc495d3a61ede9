#include "gateway/net/read_buffers.hpp"

#include <utility>

namespace gatedrill::gateway {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kKept = 0;  // a view that outlives its bytes must be seen
#else
constexpr std::size_t kKept = 32;
#endif

}  // namespace

std::unique_ptr<char[]> ReadBuffers::take(std::size_t& capacity) {
  if (capacity <= kLarge) {
    auto& kept = capacity <= kSmall ? small_ : large_;
    capacity = capacity <= kSmall ? kSmall : kLarge;
    if (!kept.empty()) {
      auto buffer = std::move(kept.back());
      kept.pop_back();
      return buffer;
    }
  }
  // Not zeroed: it is written before it is read.
  return std::unique_ptr<char[]>(new char[capacity]);
}

void ReadBuffers::give(std::unique_ptr<char[]> buffer, std::size_t capacity) {
  if (capacity != kSmall && capacity != kLarge) return;
  auto& kept = capacity == kSmall ? small_ : large_;
  if (kept.size() < kKept) kept.push_back(std::move(buffer));
}

}  // namespace gatedrill::gateway
