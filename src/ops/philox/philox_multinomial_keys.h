// SPDX-License-Identifier: MIT
// What philox_multinomial compares, on the host and in CUDA.
#pragma once

#include "numerics/lanes/scalar.h"

namespace repdl {

/// floor(a * b / 2^62) of integers below 2^62, by halves of 31 bits.
REPDL_LANE int64_t ShareOf(int64_t a, int64_t b) {
  constexpr int64_t kHalf = (int64_t{1} << 31) - 1;
  const int64_t a_low = a & kHalf, a_high = a >> 31, b_low = b & kHalf, b_high = b >> 31;
  return a_high * b_high + ((a_high * b_low + a_low * b_high + (a_low * b_low >> 31)) >> 31);
}

/// Greater for the larger score, at most 2^32 - 1. Scores are not below 0, but for -1.
REPDL_LANE uint64_t RankOfScore(float score) {
  return score < 0.0f ? 0 : static_cast<uint64_t>(scalar::BitCast(scalar::Tag<uint32_t>(), score)) + 1;
}

}  // namespace repdl
