// SPDX-License-Identifier: MIT
// Bit patterns as inputs, and a checksum of results, alike on the host and on a device: 2^32 results stay where they are.
#pragma once

#include <cstdint>

#include "repdl/tensor.h"

#ifdef __CUDACC__
#define REPDL_ANYWHERE __host__ __device__
#else
#define REPDL_ANYWHERE
#endif

namespace repdl::testing {

/// The finaliser of SplitMix64: a bijection that mixes well.
REPDL_ANYWHERE inline uint64_t Mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The patterns from `first` on, one after the other; with a seed, in an order and of a choice of its own.
struct Patterns {
  uint64_t first = 0, seed = 0;

  REPDL_ANYWHERE uint32_t Of(uint32_t, int64_t at) const {
    const uint64_t number = first + static_cast<uint64_t>(at);
    return static_cast<uint32_t>(seed == 0 ? number : Mixed(number + (seed << 40)));
  }
  /// Of 64 bits, every other one with an exponent from -32 to 31: functions do little beyond.
  REPDL_ANYWHERE uint64_t Of(uint64_t, int64_t at) const {
    const uint64_t bits = Mixed(first + static_cast<uint64_t>(at) + (seed << 40));
    if (at % 2 == 0) return bits;
    return (bits & ~(uint64_t{0x7ff} << 52)) | ((991 + (bits >> 52) % 64) << 52);
  }
};

/// The bits of a number, those of every NaN alike.
REPDL_ANYWHERE inline uint32_t CanonicalOf(uint32_t bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}
REPDL_ANYWHERE inline uint64_t CanonicalOf(uint64_t bits) {
  return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u ? 0x7ff8000000000000u : bits;
}

/// What number `at` adds to a checksum.
template <class Bits>
REPDL_ANYWHERE uint64_t TermOf(Bits bits, int64_t at) {
  return Mixed(CanonicalOf(bits) ^ Mixed(static_cast<uint64_t>(at)));
}

/// On the current device: `patterns` into a tensor of float32 or float64, and the sum of the terms of one.
void FillOnDevice(const TensorView& tensor, const Patterns& patterns);
uint64_t ChecksumOnDevice(const TensorView& tensor);

}  // namespace repdl::testing
