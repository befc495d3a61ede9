// Memory for what arrives, lent to a connection only while something has arrived. Thousands of idle
// connections hold none, and busy ones share the few that are warm in the processor's caches.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace gatedrill::gateway {

// Of one shard; used on its thread.
class ReadBuffers {
 public:
  // What a head nearly always fits into, and what a body fills.
  static constexpr std::size_t kSmall = std::size_t{16} * 1024;
  static constexpr std::size_t kLarge = std::size_t{64} * 1024;

  // At least so large; `capacity` becomes how large.
  [[nodiscard]] std::unique_ptr<char[]> take(std::size_t& capacity);
  // Back, as large as it was given.
  void give(std::unique_ptr<char[]> buffer, std::size_t capacity);

 private:
  std::vector<std::unique_ptr<char[]>> small_;
  std::vector<std::unique_ptr<char[]>> large_;
};

}  // namespace gatedrill::gateway
