#include "replay/capture/recording_files.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include <sys/statvfs.h>
#include <unistd.h>

#include "replay/database.hpp"

namespace gatedrill::replay::capture {
namespace {

namespace fs = std::filesystem;

// What completing a file still needs: pages that are not on the disk yet, and its indices.
constexpr std::uint64_t kReserveBytes = std::uint64_t{64} * 1024 * 1024;
constexpr std::uint64_t kReserveShare = 8;

void add_pending(std::vector<LedgerLine>& lines,
                 const std::string& when,
                 const std::vector<LedgerLine>& pending) {
  for (const LedgerLine& line : pending) {
    if (line.bytes > 0) lines.push_back({when + line.what, line.count, line.bytes, line.note});
  }
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

}  // namespace

Result<RecordingFiles> RecordingFiles::create(const std::string& path,
                                              const RecordingOptions& options,
                                              const Rotation& rotation,
                                              UnixTime now) {
  RecordingFiles files(path, options, rotation);
  if (auto begun = files.begin(now); !begun) return begun.error();
  return files;
}

Result<void> RecordingFiles::begin(UnixTime now) {
  ++number_;
  current_ = rotation_.on() ? name_at(now) : path_;
  begun_ = now;
  auto writer = RecordingWriter::create(current_, options_);
  if (!writer) return writer.error();
  writer_.emplace(std::move(*writer));
  return {};
}

std::string RecordingFiles::name_at(UnixTime now) const {
  const auto seconds = static_cast<std::time_t>(now.ns / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  const fs::path path(path_);
  const std::string name = path.stem().string() + "-" + stamp + "-" + std::to_string(number_) +
                           path.extension().string();
  return (path.parent_path() / name).string();
}

bool RecordingFiles::due(UnixTime now) const {
  if (rotation_.every && now.ns - begun_.ns >= rotation_.every->count()) return true;
  return rotation_.bytes > 0 && bytes() >= rotation_.bytes;
}

Result<void> RecordingFiles::rotate(const Account& account, UnixTime now) {
  if (auto completed = finish(account); !completed) return completed;
  before_ = account;
  if (auto begun = begin(now); !begun) return begun;
  // With the one that was begun there are as many as are to be kept.
  while (rotation_.keep > 0 && complete_.size() >= static_cast<std::size_t>(rotation_.keep)) {
    std::error_code ignored;  // somebody has moved it away
    fs::remove(complete_.front(), ignored);
    complete_.pop_front();
  }
  return {};
}

Result<void> RecordingFiles::finish(const Account& account) {
  std::vector<LedgerLine> lines = gained(account.total, before_.total);
  if (rotation_.on()) {
    add_pending(lines, "from the file before: ", before_.pending);
    add_pending(lines, "for the next file: ", account.pending);
  }
  if (auto finished = writer_->finish(lines); !finished) return finished;
  complete_.push_back(current_);
  return {};
}

std::uint64_t RecordingFiles::bytes() const {
  std::error_code ignored;  // none yet
  const std::string growing = current_ + std::string(kUnfinishedSuffix) + std::to_string(getpid());
  const std::uintmax_t size = fs::file_size(growing, ignored);
  return ignored ? 0 : size;
}

std::string RecordingFiles::shortage() const {
  struct statvfs disk {};

  const fs::path folder = folder_of(path_);
  if (statvfs(folder.c_str(), &disk) != 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t needed = kReserveBytes + bytes() / kReserveShare;
  if (free >= needed) return {};
  return folder.string() + ": only " + std::to_string(free / (1024 * 1024)) +
         " MiB are left there, and completing the recording may need " +
         std::to_string(needed / (1024 * 1024)) + " MiB";
}

std::vector<LedgerLine> gained(const std::vector<LedgerLine>& total,
                               const std::vector<LedgerLine>& before) {
  std::vector<LedgerLine> lines = total;
  for (LedgerLine& line : lines) {
    const auto found = std::find_if(before.begin(), before.end(), [&](const LedgerLine& earlier) {
      return earlier.what == line.what;
    });
    if (found == before.end()) continue;
    line.count -= found->count;
    line.bytes -= found->bytes;
  }
  return lines;
}

}  // namespace gatedrill::replay::capture
