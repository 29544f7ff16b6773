// SPDX-License-Identifier: MIT
// Sums over some dimensions of complex numbers, which are pairs.
#pragma once

#include "drivers/reduce_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Whether the terms of each two rows lie by turns in memory, as the parts of complex numbers do.
inline bool ArePairs(const ReduceArgs& args) {
  return args.kept.InnerStride() == 1 && args.kept.InnerSize() == 2 && args.reduced.shape.size() == 1 &&
         args.reduced.InnerStride() == 2;
}

/// One chunk of pairs side by side, n <= kSumChunk: two sums in the order of `blocked`, of the parts, in `sums`. The lanes of
/// both lie side by side too, so that none meets the other.
template <class T>
HWY_INLINE void SumChunkOfPairs(const T* x, int64_t n, T* sums) {
  const TagOf<T> d;
  constexpr int64_t kNumbers = 2 * kSumLanes;
  constexpr int64_t kVecs = std::min<int64_t>(8, kNumbers / kLanesOf<T>), kGroup = kVecs * kLanesOf<T>;
  HWY_ALIGN T lanes[kNumbers];
  for (int64_t first = 0; first < kNumbers; first += kGroup) {  // what the registers hold
    VecElementOf<T> acc[kVecs];
    for (int64_t v = 0; v < kVecs; ++v) acc[v] = Zero(d);
    int64_t i = first;
    for (; i + kGroup <= 2 * n; i += kNumbers) {
#pragma GCC unroll 8
      for (int64_t v = 0; v < kVecs; ++v) acc[v] = Add(acc[v], LoadU(d, x + i + v * kLanesOf<T>));
    }
    // A lane that has no term left gets +0, which changes no lane: none of them is -0.
    for (int64_t v = 0; v < kVecs && i < 2 * n; ++v, i += kLanesOf<T>) acc[v] = Add(acc[v], LoadN(x + i, 2 * n - i));
    for (int64_t v = 0; v < kVecs; ++v) Store(acc[v], d, lanes + first + v * kLanesOf<T>);
  }
  for (int64_t h = kSumLanes; h >= 2; h /= 2) {
    if (h >= kLanesOf<T>) {
      for (int64_t j = 0; j < h; j += kLanesOf<T>) Store(Add(Load(d, lanes + j), Load(d, lanes + j + h)), d, lanes + j);
    } else {
      for (int64_t j = 0; j < h; ++j) lanes[j] = lanes[j] + lanes[j + h];
    }
  }
  std::copy_n(lanes, 2, sums);
}

/// Rows of pairs side by side, which keep their parts apart, in order `blocked`.
template <class T>
void ReducePairs(const ReduceArgs& args) {
  const int64_t num_rows = args.kept.Count() / 2, n = args.reduced.Count();
  const Chunks chunks(n, kSumChunk);
  Scratch scratch;
  T* const sums = scratch.Get<T>(2 * num_rows * chunks.count);
  const int64_t grain = 16384 / std::min(std::max<int64_t>(n, 1), kSumChunk) + 1;
  ParallelRanges(num_rows * chunks.count, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t row = at / chunks.count, first = at % chunks.count * kSumChunk;
      const T* const x = args.X<T>() + args.kept.Offset(2 * row);
      SumChunkOfPairs(x + 2 * first, std::min(kSumChunk, n - first), sums + 2 * at);
    }
  });
  for (int64_t r = 0; r < 2 * num_rows; ++r) {
    const T* const own = sums + r / 2 * 2 * chunks.count + r % 2;
    const T sum = SumChunks<T>(n, [&](int64_t begin, int64_t) { return own[begin / kSumChunk * 2]; });
    args.Out<T>()[r] = EndSum(sum, args.end);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
