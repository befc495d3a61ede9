#include "replay/capture/byte_window.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
constexpr std::size_t kPackedBytes = std::size_t{256} << 10U;
constexpr int kQuietMs = 100;
constexpr std::string_view kGzip = "\x1f\x8b";
constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, a gzip header

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (number_ > STDERR_FILENO) close(number_);
  }

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

// A gzip file's members, one after the other.
class Unpacker {
 public:
  Unpacker() { inflateInit2(&stream_, kGzipWindow); }

  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  ~Unpacker() { inflateEnd(&stream_); }

  [[nodiscard]] bool hungry() const { return stream_.avail_in == 0; }

  // Whether the file may end here.
  [[nodiscard]] bool between_members() const { return between_; }

  void feed(std::string_view packed) {
    input_ = packed;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
  }

  // How many bytes it wrote; nothing if the data are damaged.
  std::optional<std::size_t> unpack(char* to, std::size_t room) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_in > 0 && stream_.avail_out > 0) {
      if (between_) {
        // What follows the last member is padding.
        if (begun_ && *stream_.next_in != static_cast<Bytef>(kGzip[0])) {
          stream_.avail_in = 0;
          break;
        }
        inflateReset(&stream_);
        between_ = false;
        begun_ = true;
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        between_ = true;
      } else if (code != Z_OK) {
        return std::nullopt;
      }
    }
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  std::string input_;
  bool between_ = true;
  bool begun_ = false;
};

}  // namespace

struct ByteWindow::Source {
  std::optional<Descriptor> file;  // none: memory, all of it visible at once
  bool regular = false;
  bool at_end = false;
  std::uint64_t size = 0;
  std::vector<char> buffer;
  std::unique_ptr<Unpacker> unpacker;
  std::string packed;
  std::string failure;

  // `got` bytes more, of which there are none at the end.
  State read_raw(char* to, std::size_t room, std::size_t& got) {
    got = 0;
    if (!regular) {
      pollfd waiting{.fd = file->number(), .events = POLLIN, .revents = 0};
      const int ready = poll(&waiting, 1, kQuietMs);
      if (ready == 0 || (ready < 0 && errno == EINTR)) return State::quiet;
    }
    const ssize_t count = ::read(file->number(), to, room);
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) return State::quiet;
      failure = std::string("cannot be read: ") + std::strerror(errno);
      return State::failed;
    }
    got = static_cast<std::size_t>(count);
    return State::ready;
  }

  State read(char* to, std::size_t room, std::size_t& got) {
    got = 0;
    if (!unpacker) return read_raw(to, room, got);
    while (got == 0) {
      if (unpacker->hungry()) {
        std::size_t more = 0;
        packed.resize(kPackedBytes);
        const State state = read_raw(packed.data(), packed.size(), more);
        if (state != State::ready) return state;
        if (more == 0) {
          if (unpacker->between_members()) return State::ready;
          failure = "its gzip data break off";
          return State::failed;
        }
        unpacker->feed(std::string_view(packed).substr(0, more));
      }
      const auto count = unpacker->unpack(to, room);
      if (!count) {
        failure = "its gzip data are damaged";
        return State::failed;
      }
      got = *count;
    }
    return State::ready;
  }
};

ByteWindow::ByteWindow(std::unique_ptr<Source> source) : source_(std::move(source)) {}

ByteWindow::ByteWindow(ByteWindow&&) noexcept = default;
ByteWindow& ByteWindow::operator=(ByteWindow&&) noexcept = default;
ByteWindow::~ByteWindow() = default;

Result<ByteWindow> ByteWindow::open(const std::string& path) {
  auto source = std::make_unique<Source>();
  const int number = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) {
    return outside_error(path + ": " + std::strerror(errno) +
                         "; name a capture file that tcpdump -w or Wireshark wrote");
  }
  source->file.emplace(number);

  struct stat status {};

  fstat(number, &status);
  if (S_ISDIR(status.st_mode)) {
    return usage_error(path + ": is a directory; name one capture file in it");
  }
  source->regular = S_ISREG(status.st_mode);
  source->size = static_cast<std::uint64_t>(status.st_size);
  if (source->regular) posix_fadvise(number, 0, 0, POSIX_FADV_SEQUENTIAL);
  ByteWindow window(std::move(source));
  State state = State::quiet;
  while (state == State::quiet)
    state = window.require(kGzip.size());
  if (state == State::failed) return outside_error(path + ": " + window.failure());
  if (!window.bytes().starts_with(kGzip)) return window;
  window.source_->unpacker = std::make_unique<Unpacker>();
  window.source_->unpacker->feed(window.bytes());
  window.bytes_ = {};
  return window;
}

ByteWindow ByteWindow::over(std::string_view bytes) {
  auto source = std::make_unique<Source>();
  source->at_end = true;
  source->regular = true;
  source->size = bytes.size();
  ByteWindow window(std::move(source));
  window.bytes_ = bytes;
  return window;
}

ByteWindow::State ByteWindow::fill(std::size_t count) {
  Source& source = *source_;
  if (source.at_end) return source.failure.empty() ? State::end : State::failed;
  // What is visible moves to the front, to make room behind it.
  std::vector<char>& buffer = source.buffer;
  std::size_t visible = bytes_.size();
  if (buffer.size() < count || buffer.empty()) {
    std::vector<char> larger(count + kPieceBytes);
    std::copy(bytes_.begin(), bytes_.end(), larger.begin());
    buffer = std::move(larger);
  } else if (visible > 0 && bytes_.data() != buffer.data()) {
    std::memmove(buffer.data(), bytes_.data(), visible);
  }
  State state = State::ready;
  while (visible < count && state == State::ready) {
    std::size_t got = 0;
    state = source.read(buffer.data() + visible, buffer.size() - visible, got);
    visible += got;
    if (state == State::ready && got == 0) state = State::end;
  }
  bytes_ = {buffer.data(), visible};
  if (state == State::end || state == State::failed) source.at_end = true;
  return state;
}

std::uint64_t ByteWindow::end() const {
  const std::uint64_t seen = offset_ + bytes_.size();
  return source_->regular && !source_->unpacker ? std::max(seen, source_->size) : seen;
}

bool ByteWindow::is_regular() const {
  return source_->regular;
}

const std::string& ByteWindow::failure() const {
  return source_->failure;
}

}  // namespace gatedrill::replay::capture
