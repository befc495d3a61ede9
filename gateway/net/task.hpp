// The coroutine type of the data plane: lazy, owned by whoever awaits it, without queueing of its
// own. Frames are reused, so that a request allocates nothing once its thread is warm. Where it
// waits, it hands its handle to an object that resumes it (proxy/session), so that what it waits
// for may end in any order.
//
// Errors are values here: an exception that leaves a task ends the program.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace gatedrill::gateway {

template <class T = void>
class [[nodiscard]] Task;

namespace detail {

// Memory for frames: what a thread gives back it takes again.
void* take_frame(std::size_t size);
void give_frame(void* frame, std::size_t size) noexcept;

class TaskPromiseBase {
 public:
  void* operator new(std::size_t size) { return take_frame(size); }

  void operator delete(void* frame, std::size_t size) noexcept { give_frame(frame, size); }

  struct FinalAwaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) const noexcept {
      const std::coroutine_handle<> next = done.promise().continuation_;
      return next ? next : std::noop_coroutine();
    }

    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }

  void unhandled_exception() const noexcept { std::terminate(); }

  void continue_with(std::coroutine_handle<> continuation) { continuation_ = continuation; }

 private:
  std::coroutine_handle<> continuation_;
};

template <class T>
class TaskPromise final : public TaskPromiseBase {
 public:
  Task<T> get_return_object();

  void return_value(T value) { value_.emplace(std::move(value)); }

  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> final : public TaskPromiseBase {
 public:
  Task<void> get_return_object();

  void return_void() const noexcept {}

  void take() const noexcept {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;

  Task() = default;

  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}

  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }

  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Begins an outermost task, up to its first wait.
  void start() { coroutine_.resume(); }

  [[nodiscard]] bool done() const { return !coroutine_ || coroutine_.done(); }

  // co_await: runs the task to its end and yields what it returns.
  [[nodiscard]] bool await_ready() const noexcept { return false; }

  std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) noexcept {
    coroutine_.promise().continue_with(continuation);
    return coroutine_;
  }

  T await_resume() { return coroutine_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}

}  // namespace detail
}  // namespace gatedrill::gateway
