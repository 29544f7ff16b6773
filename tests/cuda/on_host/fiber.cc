// SPDX-License-Identifier: MIT
// The C library makes a context on a stack, and _longjmp switches between contexts: swapcontext would do both, but it asks
// the kernel for the signal mask each time, which takes as long as a block of threads.
#undef _FORTIFY_SOURCE  // which refuses to jump to another stack
#include "cuda/on_host/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <new>
#include <utility>

#include "cuda/on_host/asan.h"

namespace repdl::on_host {
namespace {

constexpr size_t kGuard = 64 << 10, kStack = 512 << 10;  // a page, however large; and what the sanitizers ask for

void BeforeSwitch([[maybe_unused]] Context& from, [[maybe_unused]] const Context& to) {
#ifdef REPDL_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_size);
#endif
}
/// `from` is where this flow stopped, `before` the one that switched to it.
void AfterSwitch([[maybe_unused]] Context& from, [[maybe_unused]] Context& before) {
#ifdef REPDL_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, &before.stack, &before.stack_size);
#endif
}

[[gnu::noinline]] void Switch(Context& from, Context& to) {
  BeforeSwitch(from, to);
  if (_setjmp(from.place) == 0) _longjmp(to.place, 1);
  AfterSwitch(from, to);
}

[[gnu::noinline]] void Enter(Context& from, Context& to, const ucontext_t& start) {
  BeforeSwitch(from, to);
  if (_setjmp(from.place) == 0) setcontext(&start);
  AfterSwitch(from, to);
}

}  // namespace

Fiber::Fiber() {
  memory_ = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory_, kGuard, PROT_NONE);  // a stack that is too small ends the process
  here_.stack = static_cast<std::byte*>(memory_) + kGuard;
  here_.stack_size = kStack;
}

Fiber::~Fiber() { munmap(memory_, kGuard + kStack); }

void Fiber::Start(const std::function<void()>& function) {
  if (!ended_) {  // the stack begins anew
    entered_ = false;
#ifdef REPDL_ASAN
    __asan_unpoison_memory_region(here_.stack, here_.stack_size);
#endif
  }
  function_ = &function;
  ended_ = false;
}

void Fiber::Resume() {
  if (entered_) {
    Switch(caller_, here_);
  } else {
    ucontext_t start;
    getcontext(&start);
    start.uc_stack.ss_sp = const_cast<void*>(here_.stack);
    start.uc_stack.ss_size = here_.stack_size;
    start.uc_link = nullptr;
    const auto self = reinterpret_cast<uint64_t>(this);
    makecontext(&start, reinterpret_cast<void (*)()>(&Fiber::Begin), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
    entered_ = true;
    Enter(caller_, here_, start);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Fiber::Stop() { Switch(here_, caller_); }

void Fiber::Begin(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low))->Loop();
}

void Fiber::Loop() {
  Context fresh;
  AfterSwitch(fresh, caller_);
  for (;;) {
    try {
      (*function_)();
    } catch (...) {
      error_ = std::current_exception();
    }
    ended_ = true;
    Stop();
  }
}

}  // namespace repdl::on_host
