#include "replay/formats/input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace gatedrill::replay::formats {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;
constexpr std::size_t kBeginningBytes = 4096;

}  // namespace

// A file through zlib, which passes on what is not gzip as it is; or bytes in memory.
struct Input::Source {
  gzFile file = nullptr;
  std::string bytes;
  std::size_t taken = 0;

  ~Source() {
    if (file != nullptr) gzclose(file);
  }
};

Input::Input(std::unique_ptr<Source> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), buffer_(kBufferBytes, '\0') {}

Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Result<Input> Input::open(const std::string& path) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  const int descriptor = standard ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return outside_error(name + ": cannot be read: " + std::strerror(errno));

  struct stat status {};

  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    close(descriptor);
    return outside_error(name + ": is a directory; name the files in it");
  }
  auto source = std::make_unique<Source>();
  source->file = gzdopen(descriptor, "rb");
  if (source->file == nullptr) {
    close(descriptor);
    return outside_error(name + ": cannot be read: out of memory");
  }
  gzbuffer(source->file, static_cast<unsigned>(kBufferBytes));
  return Input(std::move(source), name);
}

Input Input::from_bytes(std::string bytes, std::string name) {
  auto source = std::make_unique<Source>();
  source->bytes = std::move(bytes);
  return Input(std::move(source), std::move(name));
}

// Fills the buffer behind what it holds; returns how much came.
Result<std::size_t> Input::fill(std::size_t from) {
  Source& source = *source_;
  char* const to = buffer_.data() + from;
  const std::size_t room = buffer_.size() - from;
  if (source.file == nullptr) {
    const std::size_t size = std::min(room, source.bytes.size() - source.taken);
    std::copy_n(source.bytes.data() + source.taken, size, to);
    source.taken += size;
    return size;
  }
  const int size = gzread(source.file, to, static_cast<unsigned>(room));
  int code = Z_OK;
  const char* text = gzerror(source.file, &code);
  if (size > 0 && code != Z_DATA_ERROR) return static_cast<std::size_t>(size);
  if (size == 0 && code == Z_OK) return std::size_t{0};
  if (code == Z_ERRNO) return outside_error(name_ + ": cannot be read: " + std::strerror(errno));
  const std::string at = name_ + ": its gzip data ";
  const std::string behind =
      " behind byte " + std::to_string(offset_ + from) + " of what they hold; copy the file again";
  if (code == Z_BUF_ERROR) return usage_error(at + "break off" + behind);
  return usage_error(at + "are damaged" + behind + " (" + text + ")");
}

Result<std::string_view> Input::beginning() {
  if (!looked_) {
    looked_ = true;
    while (held_ < kBeginningBytes) {
      auto size = fill(held_);
      if (!size) return size.error();
      if (*size == 0) break;
      held_ += *size;
    }
  }
  return std::string_view(buffer_).substr(0, std::min(held_, kBeginningBytes));
}

Result<std::string_view> Input::read() {
  looked_ = true;
  std::size_t size = std::exchange(held_, 0);
  if (size == 0) {
    auto filled = fill(0);
    if (!filled) return filled.error();
    size = *filled;
  }
  offset_ += size;
  return std::string_view(buffer_).substr(0, size);
}

Result<std::optional<InputLine>> LineReader::next() {
  line_.clear();
  InputLine line;
  line.number = number_ + 1;
  line.offset = offset_;
  bool began = false;
  bool ended = false;
  while (!ended) {
    if (rest_.empty()) {
      auto more = input_.read();
      if (!more) return more.error();
      if (more->empty()) break;
      rest_ = *more;
    }
    began = true;
    const std::size_t end = rest_.find('\n');
    ended = end != std::string_view::npos;
    const std::string_view piece = rest_.substr(0, end);
    const std::size_t taken = piece.size() + (ended ? 1 : 0);
    offset_ += taken;
    rest_.remove_prefix(taken);
    const std::size_t room = line_bytes_max_ - line_.size();
    if (piece.size() > room) line.whole = false;
    if (ended && line_.empty() && line.whole) {  // the usual case: no copy
      line.text = piece;
      break;
    }
    line_.append(piece.substr(0, room));
    line.text = line_;
  }
  if (!began) return std::optional<InputLine>{};
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  ++number_;
  return std::optional<InputLine>(line);
}

std::string place_of(const Input& input, const InputLine& line) {
  return input.name() + ":" + std::to_string(line.number);
}

std::string place_of(const Input& input, std::uint64_t offset) {
  return input.name() + ": byte " + std::to_string(offset);
}

InputBuffer::int_type InputBuffer::underflow() {
  if (gptr() != egptr()) return traits_type::to_int_type(*gptr());
  auto more = input_.read();
  if (!more) failure_ = more.error();
  if (!more || more->empty()) return traits_type::eof();
  bytes_ = *more;
  setg(bytes_.data(), bytes_.data(), bytes_.data() + bytes_.size());
  return traits_type::to_int_type(*gptr());
}

}  // namespace gatedrill::replay::formats
