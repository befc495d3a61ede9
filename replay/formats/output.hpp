// A file that is being exported to. It takes its name only when it is whole; with a name that ends
// in ".gz" it is packed.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"

namespace gatedrill::replay::formats {

// Not thread-safe.
class Output {
 public:
  // "-" is standard output. An existing file is replaced by `finish`. Fails (outside) if the place
  // cannot be written. Once `stop` is set, writing fails.
  static Result<Output> create(const std::string& path, const std::atomic<bool>& stop);
  // For tests: what is written is in `text`.
  static Output to_memory();

  Output(Output&&) noexcept;
  Output& operator=(Output&&) noexcept;
  // Without `finish`, removes what was written.
  ~Output();

  // A failure is kept, and `finish` tells it; what follows it is dropped.
  void write(std::string_view bytes);

  [[nodiscard]] bool failed() const;

  // Completes the file. Fails (outside) if anything could not be written.
  Result<void> finish();

  [[nodiscard]] const std::string& text() const;

 private:
  struct State;
  explicit Output(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::replay::formats
