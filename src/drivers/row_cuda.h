// SPDX-License-Identifier: MIT
// The words of texts of rows (`*.row.h`) for CUDA. A thread, a warp or a block computes a row: which of them, and of how
// many threads, cannot show in the bits.
#pragma once

#include "base/cuda_launch.h"
#include "drivers/row_cuda_thread.h"

namespace repdl::cuda {

inline constexpr int kWarpThreads = 32;
inline constexpr unsigned kWholeWarp = ~0u;

/// An index that the op could not look at; one that is out of range stops the kernel.
REPDL_ROW int64_t CheckedIndex(int64_t index, int64_t size) {
  if (index < 0 || index >= size) __trap();
  return index;
}

REPDL_ROW int LaneOfWarp() { return static_cast<int>(threadIdx.x) % kWarpThreads; }

/// f of the numbers of all threads of a warp, which all get it; f(a, b) is f(b, a). Of sums this is the fold of the lanes.
template <class T, class F>
REPDL_ROW T AcrossWarp(T value, const F& f) {
  for (int h = kWarpThreads / 2; h >= 1; h /= 2) value = f(value, __shfl_xor_sync(kWholeWarp, value, h));
  return value;
}
template <class T>
REPDL_ROW T FoldWarp(T value) {
  return AcrossWarp(value, [](T a, T b) { return scalar::Add(a, b); });
}

/// A row that a warp computes, of at most kSumChunk places. Thread t has places t, t + 32, t + 64, …, in each of the words,
/// so that none reads what another has put.
template <class T>
struct WarpRow : scalar::RowWords<T> {
  REPDL_ROW bool IsFirst() const { return LaneOfWarp() == 0; }

  template <class Body>
  REPDL_ROW void Each(const Body& body) const {
    for (int64_t i = LaneOfWarp(); i < this->n; i += kWarpThreads) body(scalar::RowPlace{i});
  }
  template <class Body>
  REPDL_ROW void At(int64_t i, const Body& body) const {
    if (i % kWarpThreads == LaneOfWarp()) body(scalar::RowPlace{i});
  }
  template <class Term>
  REPDL_ROW T Get(int64_t i, const Term& term) const {
    const int owner = static_cast<int>(i % kWarpThreads);
    return __shfl_sync(kWholeWarp, owner == LaneOfWarp() ? term(scalar::RowPlace{i}) : T{0}, owner);
  }
  template <class Test>
  REPDL_ROW bool All(const Test& test) const {
    bool all = true;
    Each([&](scalar::RowPlace at) { all = all && test(at); });
    return __all_sync(kWholeWarp, all) != 0;
  }
  template <class X, class F>
  REPDL_ROW T Reduce(const X& x, T start, const F& f) const {
    Each([&](scalar::RowPlace at) { start = f(start, x(at)); });
    return AcrossWarp(start, f);
  }
  template <class X>
  REPDL_ROW T Max(const X& x) const {
    return Reduce(x, scalar::Neg(scalar::Inf(this->Tag())), scalar::Larger());
  }
  template <class Term>
  REPDL_ROW T Sum(const Term& term) const {
    if (this->order == Order::kBlocked) return FoldWarp(scalar::SumTwoLanes<T>(0, this->n, LaneOfWarp(), term));
    T acc = 0;
    for (int64_t begin = 0; begin < this->n; begin += kWarpThreads) {
      const int64_t i = begin + LaneOfWarp(), left = this->n - begin;
      const T value = i < this->n ? term(scalar::RowPlace{i}) : T{0};
      const int count = left < kWarpThreads ? static_cast<int>(left) : kWarpThreads;
      for (int lane = 0; lane < count; ++lane) acc = scalar::Add(acc, __shfl_sync(kWholeWarp, value, lane));
    }
    return acc;
  }
  template <class Term>
  REPDL_ROW T SumByChunk(const Term& term) const {
    return Sum(term);
  }
};

/// What the threads of a block share.
template <class T>
struct RowShared {
  static constexpr int64_t kTile = 1024;
  static_assert(kSumChunk % kTile == 0 && kTile % kSumLanes == 0);

  T tile[kTile];
  T of_warps[kThreadsPerBlock / kWarpThreads];
  T waiting[kMaxLevels];
  T one;
};

/// A row that a block computes. Each word that gives a number begins with a barrier: behind it is what any thread has put
/// before, and nobody reads any more what the word before left in shared memory.
template <class T>
struct BlockRow : scalar::RowWords<T> {
  RowShared<T>* shared;

  REPDL_ROW bool IsFirst() const { return threadIdx.x == 0; }

  template <class Body>
  REPDL_ROW void Each(const Body& body) const {
    for (int64_t i = threadIdx.x; i < this->n; i += blockDim.x) body(scalar::RowPlace{i});
  }
  /// By the thread that has this place in Each.
  template <class Body>
  REPDL_ROW void At(int64_t i, const Body& body) const {
    if (i % blockDim.x == threadIdx.x) body(scalar::RowPlace{i});
  }
  template <class Term>
  REPDL_ROW T Get(int64_t i, const Term& term) const {
    __syncthreads();
    At(i, [&](scalar::RowPlace at) { shared->one = term(at); });
    __syncthreads();
    return shared->one;
  }
  template <class Test>
  REPDL_ROW bool All(const Test& test) const {
    bool all = true;
    Each([&](scalar::RowPlace at) { all = all && test(at); });
    return AcrossBlock(all ? T{0} : T{1}, scalar::Larger()) == T{0};
  }
  template <class X, class F>
  REPDL_ROW T Reduce(const X& x, T start, const F& f) const {
    Each([&](scalar::RowPlace at) { start = f(start, x(at)); });
    return AcrossBlock(start, f);
  }
  template <class X>
  REPDL_ROW T Max(const X& x) const {
    return Reduce(x, scalar::Neg(scalar::Inf(this->Tag())), scalar::Larger());
  }
  template <class Term>
  REPDL_ROW T Sum(const Term& term) const {
    __syncthreads();
    if (this->order == Order::kSequential) return SumInSequence(term);
    const Chunks chunks(this->n, kSumChunk);
    return chunks.count < NumWarps() ? SumFewChunks(chunks, term) : SumManyChunks(chunks, term);
  }
  template <class Term>
  REPDL_ROW T SumByChunk(const Term& term) const {
    return Sum(term);
  }

 private:
  REPDL_ROW int64_t Warp() const { return threadIdx.x / kWarpThreads; }
  REPDL_ROW int64_t NumWarps() const { return blockDim.x / kWarpThreads; }

  /// The number of the first thread, behind a barrier of the word.
  REPDL_ROW T GiveToAll(T value) const {
    if (IsFirst()) shared->one = value;
    __syncthreads();
    return shared->one;
  }
  /// f of the numbers of all threads.
  template <class F>
  REPDL_ROW T AcrossBlock(T value, const F& f) const {
    value = AcrossWarp(value, f);
    __syncthreads();
    if (LaneOfWarp() == 0) shared->of_warps[Warp()] = value;
    __syncthreads();
    value = shared->of_warps[0];
    for (int64_t w = 1; w < NumWarps(); ++w) value = f(value, shared->of_warps[w]);
    return value;
  }
  /// Calls add(count) for tiles of the terms [begin, end), once they are in shared memory.
  template <class Term, class AddTile>
  REPDL_ROW void ForTiles(int64_t begin, int64_t end, const Term& term, const AddTile& add) const {
    for (; begin < end; begin += RowShared<T>::kTile) {
      const int64_t count = end - begin < RowShared<T>::kTile ? end - begin : RowShared<T>::kTile;
      for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        shared->tile[i] = term(scalar::RowPlace{begin + i});
      }
      __syncthreads();
      add(count);
      __syncthreads();
    }
  }
  template <class Term>
  REPDL_ROW T SumInSequence(const Term& term) const {
    T acc = 0;
    ForTiles(0, this->n, term, [&](int64_t count) {
      for (int64_t i = 0; IsFirst() && i < count; ++i) acc = scalar::Add(acc, shared->tile[i]);
    });
    return GiveToAll(acc);
  }
  /// All threads compute terms, and one warp adds them.
  template <class Term>
  REPDL_ROW T SumFewChunks(const Chunks& chunks, const Term& term) const {
    constexpr int64_t kHalf = kSumLanes / 2;
    scalar::SumTree<T> tree{shared->waiting, T{0}};
    for (int64_t index = 0; index < chunks.count; ++index) {
      T low = 0, high = 0;
      ForTiles(chunks.Begin(index), chunks.End(index), term, [&](int64_t count) {
        for (int64_t i = threadIdx.x; Warp() == 0 && i < count; i += kSumLanes) {
          low = scalar::Add(low, shared->tile[i]);
          if (i + kHalf < count) high = scalar::Add(high, shared->tile[i + kHalf]);
        }
      });
      if (Warp() != 0) continue;
      tree.value = FoldWarp(scalar::Add(low, high));
      if (IsFirst()) EndChunk(index, index + 1 == chunks.count, tree);
    }
    return GiveToAll(tree.value);
  }
  /// A warp for each chunk.
  template <class Term>
  REPDL_ROW T SumManyChunks(const Chunks& chunks, const Term& term) const {
    scalar::SumTree<T> tree{shared->waiting, T{0}};
    for (int64_t first = 0; first < chunks.count; first += NumWarps()) {
      const int64_t index = first + Warp();
      T value = 0;
      if (index < chunks.count) {
        value = FoldWarp(scalar::SumTwoLanes<T>(chunks.Begin(index), chunks.End(index), LaneOfWarp(), term));
      }
      if (first > 0) __syncthreads();  // the chunks before have met
      if (LaneOfWarp() == 0) shared->of_warps[Warp()] = value;
      __syncthreads();
      for (int64_t w = 0; IsFirst() && w < NumWarps() && first + w < chunks.count; ++w) {
        tree.value = shared->of_warps[w];
        EndChunk(first + w, first + w + 1 == chunks.count, tree);
      }
    }
    return GiveToAll(tree.value);
  }
};

/// Rows of n places, and what a body needs of them.
template <class Args>
struct RowsArgs {
  int64_t num_rows, n;
  Order order;
  Args args;
};

template <class T, class Body, class Args>
__global__ void __launch_bounds__(kThreadsPerBlock) ThreadRowsKernel(const __grid_constant__ RowsArgs<Args> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t r = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; r < args.num_rows; r += num_threads) {
    Body()(scalar::ThreadRow<T>{{args.n, args.order}}, r, args.args);
  }
}

template <class T, class Body, class Args>
__global__ void __launch_bounds__(kThreadsPerBlock) WarpRowsKernel(const __grid_constant__ RowsArgs<Args> args) {
  const int64_t warps = blockDim.x / kWarpThreads, num_warps = gridDim.x * warps;
  for (int64_t r = blockIdx.x * warps + threadIdx.x / kWarpThreads; r < args.num_rows; r += num_warps) {
    Body()(WarpRow<T>{{args.n, args.order}}, r, args.args);
  }
}

template <class T, class Body, class Args>
__global__ void __launch_bounds__(kThreadsPerBlock) BlockRowsKernel(const __grid_constant__ RowsArgs<Args> args) {
  const BlockRow<T> row{{args.n, args.order}, SharedMemory<RowShared<T>>()};
  for (int64_t r = blockIdx.x; r < args.num_rows; r += gridDim.x) Body()(row, r, args.args);
}

/// Rows up to this length get a warp, which needs no barriers.
inline constexpr int64_t kMaxOfWarp = 1024;
static_assert(kMaxOfWarp <= kSumChunk);

/// Body()(row, r, args) for each row r, a thread for each.
template <class T, class Body, class Args>
void ForThreadRows(const Place& place, const RowsArgs<Args>& args) {
  Launch(place, args.num_rows, &ThreadRowsKernel<T, Body, Args>, args);
}

/// The same with a warp for each.
template <class T, class Body, class Args>
void ForWarpRows(const Place& place, const RowsArgs<Args>& args) {
  Launch(place, args.num_rows * kWarpThreads, &WarpRowsKernel<T, Body, Args>, args);
}

/// The same with a warp or a block for each.
template <class T, class Body, class Args>
void ForSharedRows(const Place& place, const RowsArgs<Args>& args) {
  if (args.n <= kMaxOfWarp) return ForWarpRows<T, Body>(place, args);
  const Grid grid{std::min(args.num_rows, kMaxBlocks), kThreadsPerBlock, sizeof(RowShared<T>)};
  Launch(place, grid, &BlockRowsKernel<T, Body, Args>, args);
}

/// Whether rows that begin at `starts` lie side by side across memory, enough of them for the loads of a warp.
inline bool AreSideBySide(const Loops& starts, int64_t stride) {
  return stride != 1 && starts.InnerStride() == 1 && starts.InnerSize() >= kWarpThreads / 2;
}

/// Whether rows have threads to hide memory behind where each thread has a row of its own: short ones, or many.
inline bool AreEnoughForThreads(int64_t num_rows, int64_t n) { return num_rows >= n / 16; }

/// The same for rows that may lie across memory: a thread for each then reads beside its neighbours.
template <class T, class Body, class Args>
void ForRows(const Place& place, const RowsArgs<Args>& args, bool side_by_side) {
  if (side_by_side && AreEnoughForThreads(args.num_rows, args.n)) {
    ForThreadRows<T, Body>(place, args);
  } else {
    ForSharedRows<T, Body>(place, args);
  }
}

}  // namespace repdl::cuda
