// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
/// Numbers in a block of 128 bits.
template <class T>
inline constexpr int kBlockOf = 16 / sizeof(T);

/// Squares within the 128-bit blocks of so many vectors exchange their rows and columns.
template <class T, int64_t kCount = kLanesOf<T>>
HWY_INLINE void TransposeWithinBlocks(VecElementOf<T>* t) {
  using V = VecOf<T>;
  const TagOf<T> d;
  constexpr int kBlock = kBlockOf<T>;
  if constexpr (kBlock == 4) {
    const hn::Repartition<double, TagOf<T>> dd;
#pragma GCC unroll 4
    for (int64_t g = 0; g < kCount; g += 4) {
      const V x0 = t[g], x1 = t[g + 1], x2 = t[g + 2], x3 = t[g + 3];
      const auto low01 = BitCast(dd, hn::InterleaveLower(d, x0, x1));
      const auto high01 = BitCast(dd, hn::InterleaveUpper(d, x0, x1));
      const auto low23 = BitCast(dd, hn::InterleaveLower(d, x2, x3));
      const auto high23 = BitCast(dd, hn::InterleaveUpper(d, x2, x3));
      t[g] = BitCast(d, hn::InterleaveLower(dd, low01, low23));
      t[g + 1] = BitCast(d, hn::InterleaveUpper(dd, low01, low23));
      t[g + 2] = BitCast(d, hn::InterleaveLower(dd, high01, high23));
      t[g + 3] = BitCast(d, hn::InterleaveUpper(dd, high01, high23));
    }
  } else {
#pragma GCC unroll 4
    for (int64_t g = 0; g < kCount; g += 2) {
      const V x0 = t[g], x1 = t[g + 1];
      t[g] = hn::InterleaveLower(d, x0, x1);
      t[g + 1] = hn::InterleaveUpper(d, x0, x1);
    }
  }
}

/// A square of as many vectors as one has lanes exchanges its rows and columns.
template <class T>
HWY_INLINE void TransposeSquare(VecElementOf<T>* t) {
  TransposeWithinBlocks<T>(t);
#if HWY_MAX_BYTES > 16
  using V = VecOf<T>;
  const TagOf<T> d;
  constexpr int kBlock = kBlockOf<T>;
#endif
#if HWY_MAX_BYTES == 64
#pragma GCC unroll 4
  for (int i = 0; i < kBlock; ++i) {
    const V x0 = t[i], x1 = t[kBlock + i], x2 = t[2 * kBlock + i], x3 = t[3 * kBlock + i];
    const V even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(x1), x0);
    const V odd01 = hn::OddEvenBlocks(x1, hn::SwapAdjacentBlocks(x0));
    const V even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(x3), x2);
    const V odd23 = hn::OddEvenBlocks(x3, hn::SwapAdjacentBlocks(x2));
    t[i] = hn::ConcatLowerLower(d, even23, even01);
    t[kBlock + i] = hn::ConcatLowerLower(d, odd23, odd01);
    t[2 * kBlock + i] = hn::ConcatUpperUpper(d, even23, even01);
    t[3 * kBlock + i] = hn::ConcatUpperUpper(d, odd23, odd01);
  }
#elif HWY_MAX_BYTES == 32
#pragma GCC unroll 4
  for (int i = 0; i < kBlock; ++i) {
    const V x0 = t[i], x1 = t[kBlock + i];
    t[i] = hn::ConcatLowerLower(d, x1, x0);
    t[kBlock + i] = hn::ConcatUpperUpper(d, x1, x0);
  }
#endif
}

#if HWY_MAX_BYTES == 64
/// The same as LoadTransposed of a square. Each row is loaded at once: a line that meets more than a few others in the
/// cache does not stay there for a second load.
template <class T, class Row>
HWY_INLINE void LoadTransposedByHalves(const Row& row, VecElementOf<T>* t) {
  constexpr int64_t kBlock = kBlockOf<T>, kHalf = kLanesOf<T> / 2;
  const TagOf<T> d;
  const hn::Half<TagOf<T>> half;
#pragma GCC unroll 16
  for (int64_t q = 0; q < kHalf; ++q) {
    t[q] = hn::Combine(d, hn::LoadU(half, row(q + kHalf)), hn::LoadU(half, row(q)));
    t[q + kHalf] = hn::Combine(d, hn::LoadU(half, row(q + kHalf) + kHalf), hn::LoadU(half, row(q) + kHalf));
  }
  TransposeWithinBlocks<T>(t);
#pragma GCC unroll 16
  for (int64_t q = 0; q < kHalf; ++q) {
    VecElementOf<T>* const pair = t + q % kBlock + q / kBlock * kHalf;
    const VecOf<T> x0 = pair[0], x1 = pair[kBlock];
    pair[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(x1), x0);
    pair[kBlock] = hn::OddEvenBlocks(x1, hn::SwapAdjacentBlocks(x0));
  }
}
#endif

/// t[q] = row(i)[q] for lanes i and q < kCount, whole blocks. The blocks go to their places as they are loaded, so that
/// fewer of them have to be moved between registers.
template <class T, int64_t kCount = kLanesOf<T>, class Row>
HWY_INLINE void LoadTransposed(const Row& row, VecElementOf<T>* t) {
#if HWY_MAX_BYTES == 64
  if constexpr (kCount == kLanesOf<T>) return LoadTransposedByHalves<T>(row, t);
#endif
  constexpr int kBlock = kBlockOf<T>;
#pragma GCC unroll 16
  for (int64_t q = 0; q < kCount; ++q) {
    const auto at = [&](int64_t block) HWY_ATTR { return row(block * kBlock + q % kBlock) + q / kBlock * kBlock; };
    const TagOf<T> d;
#if HWY_MAX_BYTES == 16
    t[q] = LoadU(d, at(0));
#elif defined(REPDL_SVE)
    t[q] = hn::ConcatLowerLower(d, hn::LoadDup128(d, at(1)), hn::LoadDup128(d, at(0)));
#elif HWY_MAX_BYTES == 32
    const hn::Half<TagOf<T>> block;
    t[q] = hn::Combine(d, hn::LoadU(block, at(1)), hn::LoadU(block, at(0)));
#else
    const hn::Half<TagOf<T>> half;
    const hn::Half<hn::Half<TagOf<T>>> block;
    t[q] = hn::Combine(d, hn::Combine(half, hn::LoadU(block, at(3)), hn::LoadU(block, at(2))),
                       hn::Combine(half, hn::LoadU(block, at(1)), hn::LoadU(block, at(0))));
#endif
  }
  TransposeWithinBlocks<T, kCount>(t);
}
#endif

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
