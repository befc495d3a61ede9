// The bytes that were delivered last, of all connections together, so that bytes that are sent
// again can be compared with those that were taken. One piece of memory of fixed size, written
// round and round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gatedrill::replay::capture {

// How many bytes differ, in the length that both have.
[[nodiscard]] std::size_t differing(std::string_view a, std::string_view b);

class DeliveredBytes {
 public:
  // Where the bytes of one stream lie, oldest first.
  struct Mark {
    std::int64_t begin = 0;      // in the stream
    std::uint64_t position = 0;  // among all that was ever remembered
    std::size_t size = 0;
  };

  using Marks = std::vector<Mark>;

  explicit DeliveredBytes(std::size_t capacity) : ring_(capacity, '\0') {}

  void remember(Marks& marks, std::int64_t begin, std::string_view bytes);
  // How many of `bytes` are others than those that were delivered there. What is not remembered any
  // more counts as equal.
  [[nodiscard]] std::size_t differing(const Marks& marks,
                                      std::int64_t begin,
                                      std::string_view bytes) const;

 private:
  std::string ring_;
  std::uint64_t written_ = 0;
};

}  // namespace gatedrill::replay::capture
