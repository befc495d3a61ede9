// Lets one shard at a time to what several of them share. With one shard there is nobody to wait
// for, and no lock.
#pragma once

#include <mutex>
#include <utility>

namespace gatedrill::gateway {

class Gate {
 public:
  using Pass = std::unique_lock<std::mutex>;

  explicit Gate(bool shared) : shared_(shared) {}

  // Alone until the pass is destroyed. Never asked for twice at once by one thread.
  [[nodiscard]] Pass pass() { return shared_ ? Pass(mutex_) : Pass(); }

 private:
  bool shared_;
  std::mutex mutex_;
};

// An object whose every call goes through a gate: `guarded->call()` holds the pass until the end of
// the whole expression. What a call returns must not refer to what is shared.
template <class T>
class Guarded {
 public:
  // Both outlive it.
  Guarded(T& object, Gate& gate) : object_(&object), gate_(&gate) {}

  class Call {
   public:
    Call(T* object, Gate::Pass pass) : object_(object), pass_(std::move(pass)) {}

    T* operator->() const { return object_; }

   private:
    T* object_;
    Gate::Pass pass_;
  };

  [[nodiscard]] Call operator->() const { return Call(object_, gate_->pass()); }

 private:
  T* object_;
  Gate* gate_;
};

}  // namespace gatedrill::gateway
