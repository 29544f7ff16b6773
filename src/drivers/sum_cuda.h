// SPDX-License-Identifier: MIT
// Many sums, or a few long ones, on CUDA. Where the sums are too few for the threads of a device, their chunks or lanes are
// computed by themselves and meet in a second kernel.
#pragma once

#include "base/op_scratch.h"
#include "drivers/row_cuda.h"

namespace repdl::scalar {

#include "drivers/sum_end.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// terms(sum) are the terms of a sum, a function of places.
template <class T, class Terms>
struct SumsArgs {
  int64_t num_sums;
  Terms terms;
  SumEnd end;
  T* out;
};

/// The terms of a sum that is alone.
template <class Term>
struct OneSum {
  Term term;

  REPDL_ROW Term operator()(int64_t) const { return term; }
};

struct WholeSums {
  template <class Row, class T, class Terms>
  REPDL_ROW void operator()(const Row& row, int64_t sum, const SumsArgs<T, Terms>& args) const {
    const T value = row.Sum(args.terms(sum));
    if (row.IsFirst()) args.out[sum] = scalar::EndOfSum(row, value, args.end);
  }
};

/// Row r is a chunk; `n` of the row is that of the sum. Part p of sum s goes to p * num_sums + s.
struct ChunksOfSums {
  template <class Row, class T, class Terms>
  REPDL_ROW void operator()(Row row, int64_t r, const SumsArgs<T, Terms>& args) const {
    const Chunks chunks(row.n, kSumChunk);
    const int64_t index = r / args.num_sums, begin = chunks.Begin(index);
    row.n = chunks.End(index) - begin;
    const auto term = args.terms(r % args.num_sums);
    const T value = row.Sum([&](scalar::RowPlace at) { return term(scalar::RowPlace{begin + at.index}); });
    if (row.IsFirst()) args.out[r] = value;
  }
};

/// Row r is a lane of a chunk.
struct LanesOfSums {
  template <class Row, class T, class Terms>
  REPDL_ROW void operator()(const Row& row, int64_t r, const SumsArgs<T, Terms>& args) const {
    const Chunks chunks(row.n, kSumChunk);
    const int64_t lane = r / args.num_sums, index = lane / kSumLanes;
    args.out[r] =
        scalar::SumLane<T>(chunks.Begin(index), chunks.End(index), lane % kSumLanes, args.terms(r % args.num_sums));
  }
};

template <class T>
struct PartsArgs {
  int64_t num_sums;
  const T* parts;
  SumEnd end;
  T* out;
};

/// The parts of a sum meet, of which kPerChunk are a chunk.
template <int64_t kPerChunk>
struct JoinParts {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t sum, const PartsArgs<T>& args) const {
    const scalar::RowNumbers<const T> parts{args.parts + sum, args.num_sums};
    args.out[sum] = scalar::EndOfSum(row, scalar::SumChunks<T>(row.n, kPerChunk, parts), args.end);
  }
};

/// Fewer sums than this leave a device idle if a block computes each; or a thread.
inline constexpr int64_t kManyBlocks = 512, kManyThreads = int64_t{1} << 17;

/// out[s] = Sum of the n terms of sum s, which lie anyhow: threads share a sum.
template <class T, class Terms>
void Sums(const Place& place, int64_t num_sums, int64_t n, Order order, const Terms& terms, const SumEnd& end, T* out) {
  using Args = SumsArgs<T, Terms>;
  const int64_t num_chunks = Chunks(n, kSumChunk).count;
  if (order == Order::kSequential || num_sums >= kManyBlocks || num_chunks <= kThreadsPerBlock / kWarpThreads) {
    return ForSharedRows<T, WholeSums>(place, RowsArgs<Args>{num_sums, n, order, {num_sums, terms, end, out}});
  }
  OpScratch scratch(place);
  T* const parts = scratch.Get<T>(num_chunks * num_sums);
  ForWarpRows<T, ChunksOfSums>(place, RowsArgs<Args>{num_chunks * num_sums, n, order, {num_sums, terms, {}, parts}});
  ForThreadRows<T, JoinParts<1>>(place,
                                 RowsArgs<PartsArgs<T>>{num_sums, num_chunks, order, {num_sums, parts, end, out}});
}

/// The same of terms that lie side by side with those of the sums beside: neighbouring threads have neighbouring sums.
template <class T, class Terms>
void SumsSideBySide(const Place& place, int64_t num_sums, int64_t n, Order order, const Terms& terms, const SumEnd& end,
                    T* out) {
  using Args = SumsArgs<T, Terms>;
  if (order == Order::kSequential || num_sums >= kManyThreads || n < 4 * kSumLanes) {
    return ForThreadRows<T, WholeSums>(place, RowsArgs<Args>{num_sums, n, order, {num_sums, terms, end, out}});
  }
  const Chunks chunks(n, kSumChunk);
  const int64_t last = n - chunks.Begin(chunks.count - 1);
  const int64_t lanes = (chunks.count - 1) * kSumLanes + std::min(last, kSumLanes);
  OpScratch scratch(place);
  T* const parts = scratch.Get<T>(lanes * num_sums);
  ForThreadRows<T, LanesOfSums>(place, RowsArgs<Args>{lanes * num_sums, n, order, {num_sums, terms, {}, parts}});
  ForThreadRows<T, JoinParts<kSumLanes>>(place,
                                         RowsArgs<PartsArgs<T>>{num_sums, lanes, order, {num_sums, parts, end, out}});
}

}  // namespace repdl::cuda
