// The access log: lines from any shard, written by a thread of its own, so that a slow disk holds
// up no request. Lines that found no room, or that could not be written, are counted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "gateway/core/result.hpp"

namespace gatedrill::gateway {

class AccessLog {
 public:
  // Appends to the file; "-" is standard output.
  [[nodiscard]] static Result<std::unique_ptr<AccessLog>> open(const std::string& path);
  // Writes what waits.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // Whole lines. From any thread; never waits for the disk.
  void write(std::string_view lines) noexcept;

  // The file was renamed (logrotate): what follows goes to a new one of the old name.
  void reopen();

  struct Loss {
    std::uint64_t lines = 0;
    std::string reason;  // of the latest
  };

  [[nodiscard]] Loss lost() const;

 private:
  AccessLog(std::string path, int file);
  void write_until_stopped();
  void write_out(std::string& lines);
  void lose(std::string_view lines, std::string reason);

  std::string path_;
  // Of the writer's thread.
  int file_;
  bool torn_ = false;  // the last line in it was not written to its end
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string pending_;
  bool reopen_ = false;
  bool stopping_ = false;
  Loss lost_;
  std::thread writer_;
};

}  // namespace gatedrill::gateway
