// SPDX-License-Identifier: MIT
// Sorts entries on CUDA: tiles of a row by blocks, in shared memory, and then what the tiles have is merged.
#pragma once

#include <algorithm>
#include <utility>

#include "base/cuda_launch.h"
#include "base/op_scratch.h"
#include "drivers/map_cuda_thread.h"
#include "drivers/sort_entry.h"

namespace repdl::cuda {

/// Entries of a tile, of which two copies lie in shared memory. A power of two.
inline constexpr int64_t kSortTile = 1024;

/// Where entry i of n goes when each two runs of `run` sorted entries, a power of two, become one: an entry finds its
/// place by itself, as no two are equal.
template <class Key>
REPDL_WALK int64_t MergedPlace(const SortEntry<Key>* entries, int64_t n, int64_t run, int64_t i) {
  const int64_t own = i & -run, other = own ^ run;
  if (other >= n) return i;
  const int64_t length = n - other < run ? n - other : run;
  return (own < other ? own : other) + (i - own) + CountBefore(entries + other, length, entries[i]);
}

/// Entry i of row r is source(r, i).
template <class Key, class Source>
struct SortTilesArgs {
  Source source;
  int64_t rows, n, tiles;  // of each row
  SortEntry<Key>* to;
};

template <class Key, class Source>
__global__ void __launch_bounds__(kThreadsPerBlock)
    SortTilesKernel(const __grid_constant__ SortTilesArgs<Key, Source> args) {
  for (int64_t unit = blockIdx.x; unit < args.rows * args.tiles; unit += gridDim.x) {
    int64_t row = unit;
    const int64_t begin = scalar::TakeRemainder(row, args.tiles) * kSortTile;
    const int64_t count = args.n - begin < kSortTile ? args.n - begin : kSortTile;
    SortEntry<Key>*from = SharedMemory<SortEntry<Key>>(), *to = from + (args.tiles == 1 ? args.n : kSortTile);
    __syncthreads();  // the tile before has been read
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) from[i] = args.source(row, begin + i);
    for (int64_t run = 1; run < count; run *= 2) {
      __syncthreads();
      for (int64_t i = threadIdx.x; i < count; i += blockDim.x) to[MergedPlace(from, count, run, i)] = from[i];
      SortEntry<Key>* const merged = to;
      to = from, from = merged;
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) args.to[row * args.n + begin + i] = from[i];
  }
}

template <class Key>
struct MergeRunsArgs {
  int64_t rows, n, run;
  const SortEntry<Key>* from;
  SortEntry<Key>* to;
};

template <class Key>
__global__ void __launch_bounds__(kThreadsPerBlock) MergeRunsKernel(const __grid_constant__ MergeRunsArgs<Key> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.rows * args.n; at += num_threads) {
    int64_t row = at;
    const int64_t i = scalar::TakeRemainder(row, args.n), begin = row * args.n;
    args.to[begin + MergedPlace(args.from + begin, args.n, args.run, i)] = args.from[at];
  }
}

/// The entries source(r, i) of `rows` rows of n, each row sorted, in scratch memory. There is at least one.
template <class Key, class Source>
const SortEntry<Key>* Sorted(const Place& place, int64_t rows, int64_t n, const Source& source, OpScratch& scratch) {
  using E = SortEntry<Key>;
  const int64_t tiles = (n + kSortTile - 1) / kSortTile, longest = std::min(n, kSortTile);
  E* from = scratch.Get<E>(rows * n);
  const Grid grid{std::min(rows * tiles, kMaxBlocks),
                  static_cast<int>(std::min<int64_t>((longest + 31) / 32 * 32, kThreadsPerBlock)),
                  2 * static_cast<size_t>(longest) * sizeof(E)};
  Launch(place, grid, &SortTilesKernel<Key, Source>, SortTilesArgs<Key, Source>{source, rows, n, tiles, from});
  if (tiles == 1) return from;
  E* to = scratch.Get<E>(rows * n);
  for (int64_t run = kSortTile; run < n; run *= 2) {
    Launch(place, rows * n, &MergeRunsKernel<Key>, MergeRunsArgs<Key>{rows, n, run, from, to});
    std::swap(from, to);
  }
  return from;
}

}  // namespace repdl::cuda
