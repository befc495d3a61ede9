// A file to import, read once from its beginning; gzip is undone on the way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"

namespace gatedrill::replay::formats {

// Not thread-safe.
class Input {
 public:
  // "-" is standard input. Fails (outside) if the file is missing, unreadable or a directory. It is
  // open from the first reading to the end, so that there may be thousands.
  static Result<Input> open(const std::string& path);
  // For tests: the bytes of a file.
  static Input from_bytes(std::string bytes, std::string name);

  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  [[nodiscard]] const std::string& name() const { return name_; }

  // The first bytes, 4 KiB at most, of what was read; empty before.
  [[nodiscard]] const std::string& beginning() const { return beginning_; }

  // The next bytes, at least one but at the end, where it is empty. They live until the next call.
  // Fails (usage) where the gzip data are damaged or cut off, (outside) where reading fails.
  Result<std::string_view> read();

  // From now on it is over once `stop` is set, which outlives it.
  void heed(const std::atomic<bool>& stop) { stop_ = &stop; }

  [[nodiscard]] bool stopped() const {
    return stop_ != nullptr && stop_->load(std::memory_order_relaxed);
  }

  // How many bytes `read` has given.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  struct Source;
  Input(std::string path, std::string name);
  Result<void> open_source();
  Result<std::size_t> fill();

  std::string path_;
  std::string name_;
  std::unique_ptr<Source> source_;
  bool ended_ = false;
  std::string buffer_;
  std::string beginning_;
  std::uint64_t offset_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

// A line, without its line end (LF or CRLF). The text lives until the next line is read.
struct InputLine {
  std::string_view text;
  std::uint64_t number = 0;  // from 1
  std::uint64_t offset = 0;  // of its first byte
  bool whole = true;         // false: it was longer than the reader keeps, and is cut off
};

// The lines of an input. A line's memory is bounded: what is longer is cut off and said so. What
// goes on without any line end is no file of lines.
class LineReader {
 public:
  explicit LineReader(Input& input,
                      std::size_t line_bytes_max = kLineBytesMax,
                      std::uint64_t endless_bytes = kEndlessBytes)
      : input_(input), line_bytes_max_(line_bytes_max), endless_bytes_(endless_bytes) {}

  static constexpr std::size_t kLineBytesMax = std::size_t{64} * 1024 * 1024;
  static constexpr std::uint64_t kEndlessBytes = std::uint64_t{256} * 1024 * 1024;

  // Nothing at the end, or where the input was stopped. Fails (usage) on an endless line.
  Result<std::optional<InputLine>> next();

 private:
  Input& input_;
  std::size_t line_bytes_max_;
  std::uint64_t endless_bytes_;
  std::string line_;
  std::string_view rest_;
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;
};

// "shop.log:8".
[[nodiscard]] std::string place_of(const Input& input, const InputLine& line);
// "shop.gor: byte 512".
[[nodiscard]] std::string place_of(const Input& input, std::uint64_t offset);

// The input as a stream buffer, for parsers that read one.
class InputBuffer final : public std::streambuf {
 public:
  explicit InputBuffer(Input& input) : input_(input) {}

  // How many bytes were taken.
  [[nodiscard]] std::uint64_t position() const {
    return input_.offset() - static_cast<std::uint64_t>(egptr() - gptr());
  }

  // Why it ended, if not because the input did.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 protected:
  int_type underflow() override;

 private:
  Input& input_;
  std::string bytes_;
  std::optional<Error> failure_;
};

}  // namespace gatedrill::replay::formats
