// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "drivers/philox.h"

namespace repdl {

struct PhiloxBitsConstants {};

struct PhiloxRandintConstants {
  uint64_t first;
  uint64_t count;  // 0: 2^64
};

struct PhiloxUniformConstants {
  float low, range;
  float highest;  // that an element may be
};

struct PhiloxNormalConstants {
  float mean, std;
};

struct PhiloxBernoulliConstants {
  uint32_t threshold;
  float otherwise;  // what a word at or above the threshold becomes
};

inline PhiloxBernoulliConstants MakePhiloxBernoulliConstants(double p) {
  // A threshold of 2^32, which every word is below, has no 32 bits.
  return {.threshold = static_cast<uint32_t>(static_cast<uint64_t>(p * 0x1p32)), .otherwise = p < 1.0 ? 0.0f : 1.0f};
}

struct PhiloxExponentialConstants {
  float lambd;
};

#define REPDL_PHILOX_KERNEL(Name) \
  struct Name##Args {             \
    PhiloxArgs philox;            \
    Name##Constants constants;    \
  };                              \
  REPDL_KERNEL(Name##Kernel, Name##Args)
REPDL_PHILOX_KERNEL(PhiloxBits)
REPDL_PHILOX_KERNEL(PhiloxRandint)
REPDL_PHILOX_KERNEL(PhiloxUniform)
REPDL_PHILOX_KERNEL(PhiloxNormal)
REPDL_PHILOX_KERNEL(PhiloxBernoulli)
REPDL_PHILOX_KERNEL(PhiloxExponential)
#undef REPDL_PHILOX_KERNEL

}  // namespace repdl
