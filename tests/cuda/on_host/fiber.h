// SPDX-License-Identifier: MIT
// Functions that stop in the middle and go on later, each on a stack of its own.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <exception>
#include <functional>

namespace repdl::on_host {

/// A place where a flow of control stopped, to which another may switch.
struct Context {
  jmp_buf place;
  // Of its stack, for the address sanitizer.
  void* fake_stack = nullptr;
  const void* stack = nullptr;
  size_t stack_size = 0;
};

/// Runs one function after another, each until it ends or stops.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Starts a function; the one before has ended, or it is given up where it stopped.
  void Start(const std::function<void()>& function);
  /// Goes on with it; returns when it stops or ends. Throws what it throws.
  void Resume();
  /// For the function: stops, until somebody resumes it.
  void Stop();
  bool ended() const { return ended_; }

 private:
  static void Begin(unsigned high, unsigned low);
  void Loop();

  void* memory_ = nullptr;
  bool entered_ = false, ended_ = true;
  Context here_, caller_;
  const std::function<void()>* function_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace repdl::on_host
