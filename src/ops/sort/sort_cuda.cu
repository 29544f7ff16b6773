// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "drivers/sort_cuda.h"
#include "ops/sort/sort_kernel.h"
#include "ops/sort/sort_key.h"

namespace repdl::cuda {

/// The entries of rows, in an order that is to ascend.
template <class Keys>
struct EntriesOfRows {
  using Key = typename Keys::Key;

  const typename Keys::Bits* x;
  int64_t n;
  Key flip;

  __device__ __forceinline__ SortEntry<Key> operator()(int64_t row, int64_t i) const {
    return SortEntry<Key>::Make(Keys::Of(x[row * n + i]) ^ flip, i);
  }
};

template <class Keys>
struct SortedRows {
  using Key = typename Keys::Key;

  SortArgs args;
  const SortEntry<Key>* entries;

  __device__ __forceinline__ const SortEntry<Key>* RowOf(int64_t row) const { return entries + row * args.n; }
  /// Result `to` is the element of an entry of a row.
  __device__ __forceinline__ void Give(int64_t row, const SortEntry<Key>& entry, int64_t to) const {
    using Bits = typename Keys::Bits;
    args.indices[to] = entry.Place();
    static_cast<Bits*>(args.values)[to] = static_cast<const Bits*>(args.x)[row * args.n + entry.Place()];
  }
};

template <class Keys>
__global__ void __launch_bounds__(kThreadsPerBlock) FirstOfRowsKernel(const __grid_constant__ SortedRows<Keys> rows) {
  const int64_t k = rows.args.k, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t to = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; to < rows.args.rows * k; to += num_threads) {
    int64_t row = to;
    const int64_t i = scalar::TakeRemainder(row, k);
    rows.Give(row, rows.RowOf(row)[i], to);
  }
}

/// The rank of the element that a row's thread chooses.
template <class Keys>
__device__ __forceinline__ int64_t RankIn(const SortArgs& args, const SortEntry<typename Keys::Key>* entries) {
  if (args.choice == Choice::kKth) return args.rank;
  int64_t known = args.n;
  if constexpr (Keys::kHasNan) {
    known = CountBefore(entries, args.n, SortEntry<typename Keys::Key>::Make(Keys::kNan, 0));
  }
  const bool all = args.choice == Choice::kNanMedian ? known > 0 : known == args.n;
  return all ? (known - 1) / 2 : args.n - 1;  // NaN is the last one in order
}

template <class Keys>
__global__ void __launch_bounds__(kThreadsPerBlock) OneOfRowsKernel(const __grid_constant__ SortedRows<Keys> rows) {
  using E = SortEntry<typename Keys::Key>;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows.args.rows; row += num_threads) {
    const E* const entries = rows.RowOf(row);
    const E& chosen = entries[RankIn<Keys>(rows.args, entries)];
    // The first of its equals.
    rows.Give(row, entries[CountBefore(entries, rows.args.n, E::Make(chosen.KeyOf(), 0))], row);
  }
}

/// A warp for each row finds the longest run of equals, and of several the first.
template <class Keys>
__global__ void __launch_bounds__(kThreadsPerBlock) ModesKernel(const __grid_constant__ SortedRows<Keys> rows) {
  using Key = typename Keys::Key;
  const int64_t n = rows.args.n, warps = blockDim.x / kWarpThreads, num_warps = gridDim.x * warps;
  for (int64_t row = blockIdx.x * warps + threadIdx.x / kWarpThreads; row < rows.args.rows; row += num_warps) {
    const SortEntry<Key>* const entries = rows.RowOf(row);
    uint64_t best = 0;  // the length of a run, and below it how many entries there are from its first one on
    for (int64_t i = LaneOfWarp(); i < n; i += kWarpThreads) {
      const Key key = entries[i].KeyOf();
      if (i > 0 && entries[i - 1].KeyOf() == key) continue;
      // No entry has this place.
      const int64_t length = CountBefore(entries + i, n - i, SortEntry<Key>::Make(key, UINT32_MAX));
      const uint64_t run = static_cast<uint64_t>(length) << 32 | static_cast<uint64_t>(n - i);
      best = run > best ? run : best;
    }
    best = AcrossWarp(best, [](uint64_t a, uint64_t b) { return a > b ? a : b; });
    if (LaneOfWarp() == 0) rows.Give(row, entries[n - static_cast<int64_t>(best & UINT32_MAX)], row);
  }
}

REPDL_CUDA_KERNEL(SortKernel, SortArgs) {
  DispatchKeys(args.dtype, [&]<class Keys>() {
    using Key = typename Keys::Key;
    OpScratch scratch(place);
    const EntriesOfRows<Keys> source{static_cast<const typename Keys::Bits*>(args.x), args.n,
                                     args.descending ? static_cast<Key>(-1) : Key{0}};
    const SortedRows<Keys> rows{args, Sorted<Key>(place, args.rows, args.n, source, scratch)};
    switch (args.choice) {
      case Choice::kFirst: return Launch(place, args.rows * args.k, &FirstOfRowsKernel<Keys>, rows);
      case Choice::kMode: return Launch(place, args.rows * kWarpThreads, &ModesKernel<Keys>, rows);
      default: return Launch(place, args.rows, &OneOfRowsKernel<Keys>, rows);
    }
  });
}

}  // namespace repdl::cuda
