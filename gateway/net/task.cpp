#include "gateway/net/task.hpp"

#include <array>
#include <new>

namespace gatedrill::gateway::detail {
namespace {

constexpr std::size_t kStep = 128;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kClasses = 1;  // none: a frame that is used after its end must be seen
#else
constexpr std::size_t kClasses = 32;  // up to 4 KiB; larger frames are not kept
#endif

struct FreeFrame {
  FreeFrame* next;
};

// The free frames of one thread by size.
class FreeFrames {
 public:
  FreeFrames() = default;
  FreeFrames(const FreeFrames&) = delete;
  FreeFrames& operator=(const FreeFrames&) = delete;

  ~FreeFrames() {
    for (FreeFrame* first : lists_) {
      while (first != nullptr) {
        FreeFrame* next = first->next;
        ::operator delete(first);
        first = next;
      }
    }
  }

  void* take(std::size_t size) {
    const std::size_t index = (size + kStep - 1) / kStep;
    if (index >= kClasses) return ::operator new(size);
    FreeFrame*& list = lists_[index];
    if (list == nullptr) return ::operator new(index* kStep);
    FreeFrame* frame = list;
    list = frame->next;
    return frame;
  }

  void give(void* memory, std::size_t size) noexcept {
    const std::size_t index = (size + kStep - 1) / kStep;
    if (index >= kClasses) {
      ::operator delete(memory);
      return;
    }
    lists_[index] = new (memory) FreeFrame{lists_[index]};
  }

 private:
  std::array<FreeFrame*, kClasses> lists_{};
};

FreeFrames& free_frames() {
  thread_local FreeFrames frames;
  return frames;
}

}  // namespace

void* take_frame(std::size_t size) {
  return free_frames().take(size);
}

void give_frame(void* frame, std::size_t size) noexcept {
  free_frames().give(frame, size);
}

}  // namespace gatedrill::gateway::detail
