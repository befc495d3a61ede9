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

Input::Input(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}

Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Result<Input> Input::open(const std::string& path) {
  if (path == "-") return Input(path, "standard input");

  struct stat status {};

  if (stat(path.c_str(), &status) != 0 || access(path.c_str(), R_OK) != 0) {
    return outside_error(path + ": cannot be read: " + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    return outside_error(path + ": is a directory; name the files in it");
  }
  return Input(path, path);
}

Input Input::from_bytes(std::string bytes, std::string name) {
  Input input("", std::move(name));
  input.source_ = std::make_unique<Source>();
  input.buffer_.resize(std::clamp<std::size_t>(bytes.size(), 1, kBufferBytes));
  input.source_->bytes = std::move(bytes);
  return input;
}

Result<void> Input::open_source() {
  const int descriptor =
      path_ == "-" ? dup(STDIN_FILENO) : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return outside_error(name_ + ": cannot be read: " + std::strerror(errno));
  source_ = std::make_unique<Source>();
  source_->file = gzdopen(descriptor, "rb");
  if (source_->file == nullptr) {
    close(descriptor);
    return outside_error(name_ + ": cannot be read: out of memory");
  }
  gzbuffer(source_->file, static_cast<unsigned>(kBufferBytes));
  buffer_.resize(kBufferBytes);
  return {};
}

// Fills the buffer; returns how much came.
Result<std::size_t> Input::fill() {
  Source& source = *source_;
  if (source.file == nullptr) {
    const std::size_t size = std::min(buffer_.size(), source.bytes.size() - source.taken);
    std::copy_n(source.bytes.data() + source.taken, size, buffer_.data());
    source.taken += size;
    return size;
  }
  const int size = gzread(source.file, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* text = gzerror(source.file, &code);
  if (size > 0 && code != Z_DATA_ERROR) return static_cast<std::size_t>(size);
  if (size == 0 && code == Z_OK) return std::size_t{0};
  if (code == Z_ERRNO) return outside_error(name_ + ": cannot be read: " + std::strerror(errno));
  const std::string at = name_ + ": its gzip data ";
  const std::string behind =
      " behind byte " + std::to_string(offset_) + " of what they hold; copy the file again";
  if (code == Z_BUF_ERROR) return usage_error(at + "break off" + behind);
  return usage_error(at + "are damaged" + behind + " (" + text + ")");
}

Result<std::string_view> Input::read() {
  if (ended_) return std::string_view{};
  if (!source_) {
    if (auto opened = open_source(); !opened) return opened.error();
  }
  auto size = fill();
  if (!size) return size.error();
  if (*size == 0) {
    ended_ = true;
    source_.reset();
    buffer_ = std::string();
    return std::string_view{};
  }
  const std::string_view bytes = std::string_view(buffer_).substr(0, *size);
  if (offset_ == 0) beginning_ = bytes.substr(0, kBeginningBytes);
  offset_ += *size;
  return bytes;
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
      if (offset_ - line.offset > endless_bytes_) {
        return usage_error(place_of(input_, line) + ": byte " + std::to_string(line.offset) +
                           ": no line end within " + std::to_string(endless_bytes_) +
                           " bytes; this is no file of lines");
      }
      auto more = input_.read();
      if (!more) return more.error();
      if (input_.stopped()) return std::optional<InputLine>{};
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
