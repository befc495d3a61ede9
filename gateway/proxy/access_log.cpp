#include "gateway/proxy/access_log.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace gatedrill::gateway {
namespace {

constexpr std::chrono::milliseconds kWriteInterval{500};
constexpr std::size_t kWriteBytes = std::size_t{64} * 1024;              // not later than that
constexpr std::size_t kPendingBytesMax = std::size_t{16} * 1024 * 1024;  // a disk may stall

int open_file(const std::string& path) {
  if (path == "-") return ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

std::string text_of(int failed) {
  return std::error_code(failed, std::generic_category()).message();
}

}  // namespace

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path) {
  const int file = open_file(path);
  if (file < 0) {
    return outside_error("cannot write the access log " + path + ": " + text_of(errno));
  }
  return std::unique_ptr<AccessLog>(new AccessLog(path, file));
}

AccessLog::AccessLog(std::string path, int file)
    : path_(std::move(path)), file_(file), writer_([this] { write_until_stopped(); }) {}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  writer_.join();
  if (file_ >= 0) ::close(file_);
}

void AccessLog::write(std::string_view lines) noexcept {
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    if (pending_.size() + lines.size() > kPendingBytesMax) {
      lose(lines, "it is written more slowly than requests end");
      return;
    }
    const std::size_t before = pending_.size();
    pending_.append(lines);
    enough = before < kWriteBytes && pending_.size() >= kWriteBytes;
  }
  if (enough) wake_.notify_one();
}

void AccessLog::reopen() {
  const std::lock_guard lock(mutex_);
  reopen_ = true;
  wake_.notify_one();
}

AccessLog::Loss AccessLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

// With the mutex held.
void AccessLog::lose(std::string_view lines, std::string reason) {
  lost_.lines += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  lost_.reason = std::move(reason);
}

void AccessLog::write_until_stopped() {
  std::string lines;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait_for(lock, kWriteInterval,
                   [this] { return stopping_ || reopen_ || pending_.size() >= kWriteBytes; });
    const bool last = stopping_;
    const bool reopening = std::exchange(reopen_, false);
    std::swap(lines, pending_);
    lock.unlock();
    write_out(lines);
    int failed = 0;
    if (reopening) {
      const int file = open_file(path_);
      if (file < 0) {
        failed = errno;
      } else {
        ::close(file_);
        file_ = file;
        torn_ = false;
      }
    }
    lock.lock();
    if (reopening && failed != 0) lose({}, "it cannot be reopened: " + text_of(failed));
    if (last && pending_.empty()) return;
  }
}

void AccessLog::write_out(std::string& lines) {
  if (torn_ && !lines.empty()) lines.insert(lines.begin(), '\n');
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
      torn_ = !rest.empty() && rest.data()[-1] != '\n';
    } else if (errno != EINTR) {
      const std::lock_guard lock(mutex_);
      lose(rest, text_of(errno));
      break;
    }
  }
  lines.clear();
}

}  // namespace gatedrill::gateway
