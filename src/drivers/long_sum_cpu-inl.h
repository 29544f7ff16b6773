// SPDX-License-Identifier: MIT
// The sum of one row that is long enough to share among the threads.
#pragma once

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/sum_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Chunks that are worth a fork.
inline constexpr int64_t kChunksOfFork = 8;

/// Sum of n terms of which term(i, count) makes a vector, with +0 after count. In order `blocked` the chunks of a long
/// sum run in parallel.
template <class T, class Term>
HWY_INLINE T SumOnThreads(int64_t n, Order order, const Term& term) {
  const int64_t num_chunks = Chunks(n, kSumChunk).count;
  if (order != Order::kBlocked || num_chunks <= kChunksOfFork) return SumOf<T>(n, order, term);
  Scratch scratch;
  T* const values = scratch.Get<T>(num_chunks);
  ParallelRanges(num_chunks, kChunksOfFork, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c * kSumChunk;
      values[c] = SumChunkOf<T>(std::min(kSumChunk, n - first),
                                [&](int64_t i, int64_t count) HWY_ATTR { return term(first + i, count); });
    }
  });
  return SumChunks<T>(n, [&](int64_t begin, int64_t) { return values[begin / kSumChunk]; });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
