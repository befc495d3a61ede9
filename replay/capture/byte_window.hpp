// The bytes of a file, a pipe or a piece of memory, seen through a window that moves forward. They
// are read in large pieces, gzip is unpacked on the way, and who looks at them copies nothing.
//
//   file, pipe ──(gzip)──► [ consumed | visible | room ]
//                            offset() ──┘  require(n) makes at least n bytes visible
//
// The memory is one piece and the largest `count` that was asked for, whatever the file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"

namespace gatedrill::replay::capture {

// Not thread-safe.
class ByteWindow {
 public:
  enum class State : std::uint8_t {
    ready,
    quiet,   // a pipe from which nothing came for 100 ms
    end,     // there are not as many bytes; all that are left are visible
    failed,  // see failure()
  };

  // "-" is standard input. Fails (outside) if it cannot be opened, (usage) for a directory.
  static Result<ByteWindow> open(const std::string& path);
  // `bytes` outlives the window.
  static ByteWindow over(std::string_view bytes);

  ByteWindow(ByteWindow&&) noexcept;
  ByteWindow& operator=(ByteWindow&&) noexcept;
  ~ByteWindow();

  // Whatever bytes() gave before is gone, unless enough was visible already.
  State require(std::size_t count) { return bytes_.size() >= count ? State::ready : fill(count); }

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

  // At most what is visible.
  void consume(std::size_t count) {
    bytes_.remove_prefix(count);
    offset_ += count;
  }

  // Whether `require` is never quiet.
  [[nodiscard]] bool is_regular() const;

  // Of the first visible byte, from the beginning of the (unpacked) file.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  // Where the bytes end, as far as that is known: for all but plain files, what was read so far.
  [[nodiscard]] std::uint64_t end() const;
  [[nodiscard]] const std::string& failure() const;

 private:
  struct Source;
  explicit ByteWindow(std::unique_ptr<Source> source);
  State fill(std::size_t count);

  std::unique_ptr<Source> source_;
  std::string_view bytes_;
  std::uint64_t offset_ = 0;
};

}  // namespace gatedrill::replay::capture
