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

/// Part p of sum s is parts[p * num_sums + s].
template <class T>
struct PartsArgs {
  int64_t num_sums;
  const T* parts;
  SumEnd end;
  T* out;
};

/// The fold of 2 h numbers in registers.
template <int h, class T>
REPDL_ROW T FoldNumbers(T (&numbers)[kSumLanes]) {
#pragma unroll
  for (int j = 0; j < h; ++j) numbers[j] = scalar::Add(numbers[j], numbers[j + h]);
  if constexpr (h > 1) {
    return FoldNumbers<h / 2>(numbers);
  } else {
    return numbers[0];
  }
}

/// Row r is chunk r / num_sums of a sum, whose lanes meet; `n` of the row is the number of all lanes.
struct FoldLanes {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const PartsArgs<T>& args) const {
    const int64_t first = r / args.num_sums * kSumLanes, left = row.n - first;
    const T* const from = args.parts + first * args.num_sums + r % args.num_sums;
    T lanes[kSumLanes];
#pragma unroll
    for (int j = 0; j < kSumLanes; ++j) lanes[j] = j < left ? from[j * args.num_sums] : T{0};
    args.out[r] = FoldNumbers<kSumLanes / 2>(lanes);
  }
};

/// Row r is the chunks [32 g, 32 g + 32) of a sum, g = r / num_sums: a node of the tree. `n` of the row is the number of all
/// chunks.
struct JoinChunks {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const PartsArgs<T>& args) const {
    const int64_t first = r / args.num_sums * kWarpThreads, sum = r % args.num_sums;
    const int lane = LaneOfWarp();
    T value = first + lane < row.n ? args.parts[(first + lane) * args.num_sums + sum] : T{0};
#pragma unroll
    for (int h = 1; h < kWarpThreads; h *= 2) {
      const T other = __shfl_xor_sync(kWholeWarp, value, h);
      const bool is_later = (lane & h) != 0;
      // What has no neighbour behind it goes up as it is.
      const bool is_pair = first + (lane & ~(2 * h - 1)) + h < row.n;
      const T together = scalar::Add(is_later ? other : value, is_later ? value : other);
      value = is_pair ? together : is_later ? other : value;
    }
    if (!row.IsFirst()) return;
    args.out[r] = row.n > kWarpThreads ? value : scalar::EndOfSum(row, value, args.end);
  }
};

/// Fewer sums than this leave a device idle if a block computes each; or a thread.
inline constexpr int64_t kManyBlocks = 512, kManyThreads = int64_t{1} << 17;

/// out[s] = the sum of chunks, part c of sum s at chunks[c * num_sums + s].
template <class T>
void JoinAllChunks(const Place& place, int64_t num_sums, int64_t num_chunks, Order order, const T* chunks,
                   const SumEnd& end, T* out) {
  OpScratch scratch(place);
  for (;;) {
    const int64_t num_nodes = (num_chunks + kWarpThreads - 1) / kWarpThreads;
    T* const nodes = num_nodes == 1 ? out : scratch.Get<T>(num_nodes * num_sums);
    ForWarpRows<T, JoinChunks>(
        place, RowsArgs<PartsArgs<T>>{num_nodes * num_sums, num_chunks, order, {num_sums, chunks, end, nodes}});
    if (num_nodes == 1) return;
    chunks = nodes, num_chunks = num_nodes;
  }
}

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
  JoinAllChunks(place, num_sums, num_chunks, order, parts, end, out);
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
  T* const of_chunks = scratch.Get<T>(chunks.count * num_sums);
  ForThreadRows<T, FoldLanes>(
      place, RowsArgs<PartsArgs<T>>{chunks.count * num_sums, lanes, order, {num_sums, parts, {}, of_chunks}});
  JoinAllChunks(place, num_sums, chunks.count, order, of_chunks, end, out);
}

}  // namespace repdl::cuda
