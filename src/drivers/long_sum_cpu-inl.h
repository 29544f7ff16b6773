// SPDX-License-Identifier: MIT
// The sum of one row that is long enough to share among the threads.
#pragma once

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/sum_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Chunks that are worth a fork.
inline constexpr int64_t kChunksOfFork = Grain(8);

/// Whether a sum of n terms has chunks that can run in parallel, and enough of them.
inline bool IsLongSum(int64_t n, Order order) {
  return order == Order::kBlocked && Chunks(n, kSumChunk).count > kChunksOfFork;
}

/// A long sum of n terms; chunk(first, count) is the sum of one of its chunks.
template <class T, class Chunk>
HWY_INLINE T SumChunksOnThreads(int64_t n, const Chunk& chunk) {
  const int64_t num_chunks = Chunks(n, kSumChunk).count;
  Scratch scratch;
  T* const values = scratch.Get<T>(num_chunks);
  ParallelRanges(num_chunks, kChunksOfFork, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t c = begin; c < end; ++c) values[c] = chunk(c * kSumChunk, std::min(kSumChunk, n - c * kSumChunk));
  });
  return SumChunks<T>(n, [&](int64_t begin, int64_t) { return values[begin / kSumChunk]; });
}

/// Sum of n terms of which term(i, count) makes a vector, with +0 after count; on all threads if it is long.
template <class T, class Term>
HWY_INLINE T SumOnThreads(int64_t n, Order order, const Term& term) {
  if (!IsLongSum(n, order)) return SumOf<T>(n, order, term);
  return SumChunksOnThreads<T>(n, [&](int64_t first, int64_t length) HWY_ATTR {
    return SumChunkOf<T>(length, [&](int64_t i, int64_t count) HWY_ATTR { return term(first + i, count); });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
