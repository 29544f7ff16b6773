// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace repdl {

/// Gives the thread the arithmetic of the contract (round to nearest, subnormals kept, no traps)
/// while it lives, and the caller's modes back afterwards. Every op and every task of a worker
/// thread runs under one, so that a host program's modes cannot reach the bits.
class FpEnvGuard {
 public:
#if defined(__x86_64__) || defined(_M_X64)
  FpEnvGuard() : saved_(_mm_getcsr()) {
    if ((saved_ & kControl) != kDefault) _mm_setcsr(kDefault);
  }
  ~FpEnvGuard() {
    if ((saved_ & kControl) != kDefault) _mm_setcsr(saved_);
  }

 private:
  // MXCSR: the low six bits are sticky flags; 0x1f80 masks every trap, rounds to nearest, and leaves
  // flush-to-zero (bit 15) and denormals-are-zero (bit 6) off.
  static constexpr uint32_t kDefault = 0x1f80;
  static constexpr uint32_t kControl = 0xffc0;
  uint32_t saved_;
#elif defined(__aarch64__)
  FpEnvGuard() : saved_(Get()) {
    if (saved_ != 0) Set(0);
  }
  ~FpEnvGuard() {
    if (saved_ != 0) Set(saved_);
  }

 private:
  // FPCR: zero is round to nearest, no flushing, no traps.
  static uint64_t Get() {
    uint64_t value;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Set(uint64_t value) { __asm__ __volatile__("msr fpcr, %0" : : "r"(value)); }
  uint64_t saved_;
#else
  FpEnvGuard() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FpEnvGuard() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif

 public:
  FpEnvGuard(const FpEnvGuard&) = delete;
  FpEnvGuard& operator=(const FpEnvGuard&) = delete;
};

}  // namespace repdl
