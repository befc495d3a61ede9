#include "replay/formats/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "replay/database.hpp"

namespace gatedrill::replay::formats {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;

}  // namespace

struct Output::State {
  std::string path;
  std::string temporary;  // empty: nothing to rename or remove
  int descriptor = -1;
  gzFile packed = nullptr;  // owns the descriptor
  bool in_memory = false;
  const std::atomic<bool>* stop = nullptr;
  std::string buffer;
  std::optional<Error> failure;

  ~State() {
    if (packed != nullptr) gzclose(packed);
    if (descriptor >= 0) close(descriptor);
    if (!temporary.empty()) std::remove(temporary.c_str());
  }

  void fail() {
    if (!failure) failure = outside_error(path + ": cannot be written: " + std::strerror(errno));
  }

  void flush();
  void close_file();
};

Result<Output> Output::create(const std::string& path, const std::atomic<bool>& stop) {
  auto state = std::make_unique<State>();
  state->stop = &stop;
  state->path = path;
  if (path == "-") {
    state->path = "standard output";
    state->descriptor = dup(STDOUT_FILENO);
    if (state->descriptor < 0) state->fail();
    if (state->failure) return *state->failure;
    return Output(std::move(state));
  }

  struct stat status {};

  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return usage_error(path + ": is a directory; name a file in it");
  }
  // A pipe or a device has to be written as it is.
  const bool replace = stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  const std::string target =
      replace ? path + std::string(kUnfinishedSuffix) + std::to_string(getpid()) : path;
  constexpr mode_t kPrivate = 0600;  // it is traffic, secrets or not
  state->descriptor = open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kPrivate);
  if (state->descriptor < 0) {
    return outside_error(path + ": cannot be written here: " + std::strerror(errno));
  }
  if (replace) state->temporary = target;
  if (path.ends_with(".gz")) {
    state->packed = gzdopen(state->descriptor, "wb");
    if (state->packed == nullptr) return outside_error(path + ": out of memory");
    state->descriptor = -1;
  }
  return Output(std::move(state));
}

Output Output::to_memory() {
  auto state = std::make_unique<State>();
  state->in_memory = true;
  return Output(std::move(state));
}

Output::Output(std::unique_ptr<State> state) : state_(std::move(state)) {}

Output::Output(Output&&) noexcept = default;
Output& Output::operator=(Output&&) noexcept = default;
Output::~Output() = default;

void Output::State::flush() {
  if (in_memory || failure) return;
  std::string_view rest = buffer;
  while (!rest.empty() && !failure) {
    const auto written = packed != nullptr
                             ? gzwrite(packed, rest.data(), static_cast<unsigned>(rest.size()))
                             : ::write(descriptor, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (packed != nullptr || errno != EINTR) {
      fail();
    }
  }
  buffer.clear();
}

void Output::State::close_file() {
  if (packed != nullptr && gzclose(std::exchange(packed, nullptr)) != Z_OK) fail();
  if (descriptor >= 0 && close(std::exchange(descriptor, -1)) != 0) fail();
}

void Output::write(std::string_view bytes) {
  State& state = *state_;
  if (state.stop != nullptr && state.stop->load(std::memory_order_relaxed) && !state.failure) {
    state.failure = outside_error(state.path + ": stopped on request; nothing was kept");
  }
  if (state.failure) return;
  while (!state.in_memory && bytes.size() > kBufferBytes) {  // zlib takes 32-bit sizes
    write(bytes.substr(0, kBufferBytes));
    bytes.remove_prefix(kBufferBytes);
  }
  state.buffer.append(bytes);
  if (state.buffer.size() >= kBufferBytes) state.flush();
}

bool Output::failed() const {
  return state_->failure.has_value();
}

Result<void> Output::finish() {
  State& state = *state_;
  state.flush();
  state.close_file();
  if (state.failure) return *state.failure;
  if (state.temporary.empty()) return {};
  if (std::rename(state.temporary.c_str(), state.path.c_str()) != 0) {
    return outside_error(state.path + ": cannot be written here: " + std::strerror(errno));
  }
  state.temporary.clear();
  return {};
}

const std::string& Output::text() const {
  return state_->buffer;
}

}  // namespace gatedrill::replay::formats
