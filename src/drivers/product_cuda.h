// SPDX-License-Identifier: MIT
// Products on CUDA. A block of threads computes tile after tile of the result, each by the walk of numerics/order.h.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/cuda_launch.h"
#include "base/op_scratch.h"
#include "drivers/loops_cuda_thread.h"
#include "drivers/product_plan.h"
#include "drivers/product_tile_cuda.h"
#include "numerics/lanes/scalar.h"
#include "numerics/order.h"

namespace repdl::cuda {

/// A product of two operands, for each matrix of a batch.
template <class LeftOperand, class RightOperand, class AnyChunks, class AnySink>
struct ProductArgs {
  using T = typename LeftOperand::Number;
  using Left = LeftOperand;
  using Right = RightOperand;
  using Terms = AnyChunks;
  using Sink = AnySink;

  Left left;
  Right right;
  Terms chunks;  // after which a chain restarts
  Sink sink = {};
  // From the plan.
  int64_t part_chunks = 0, num_parts = 0;  // parts of the terms, of so many chunks
  int64_t tile_rows = 0, tile_cols = 0;    // the tiles of one matrix
  int64_t num_units = 0;                   // of work: each tile, for each part of its terms
  T* waiting = nullptr;                    // partial sums of the blocks
  int num_levels = 0;
};

/// Some chunks, counted from the first of them.
template <class AnyChunks>
struct ChunksOfPart {
  const AnyChunks& all;
  int64_t first, count;

  REPDL_WALK int64_t Begin(int64_t index) const { return all.Begin(first + index); }
  REPDL_WALK int64_t End(int64_t index) const { return all.End(first + index); }
};
template <class AnyChunks>
REPDL_LANE ChunksOfPart<AnyChunks> PartOf(const AnyChunks& all, int64_t first, int64_t count) {
  return {all, first, count};
}
/// Those of one length are the chunks of the terms of the part.
REPDL_LANE Chunks PartOf(const Chunks& all, int64_t first, int64_t count) {
  return Chunks(all.End(first + count - 1) - all.Begin(first), all.length);
}

/// The steps in which terms are copied: those in which they are multiplied, kTerms of them but for the last of a chunk.
template <int kTerms, class AnyChunks>
class CopySteps {
 public:
  REPDL_LANE void Begin(const AnyChunks& chunks) { chunk_ = 0, k_ = chunks.Begin(0), end_ = chunks.End(0); }
  /// The number of terms of the next step, or 0 after the last one.
  REPDL_LANE int Next(const AnyChunks& chunks) {
    while (k_ == end_ && chunk_ + 1 < chunks.count) end_ = chunks.End(++chunk_);
    const int num_k = end_ - k_ < kTerms ? static_cast<int>(end_ - k_) : kTerms;
    k_ += num_k;
    return num_k;
  }

 private:
  int64_t chunk_ = 0, k_ = 0, end_ = 0;
};
/// Of chunks that are whole steps, all but the last one.
template <int kTerms>
class CopySteps<kTerms, Chunks> {
 public:
  REPDL_LANE void Begin(const Chunks& chunks) { rest_ = chunks.num_terms; }
  REPDL_LANE int Next(const Chunks&) {
    const int num_k = rest_ < kTerms ? static_cast<int>(rest_) : kTerms;
    rest_ -= num_k;
    return num_k;
  }

 private:
  int64_t rest_ = 0;
};

/// A unit of work: a part of the terms of a tile.
struct ProductUnit {
  int64_t matrix, part, row, col;  // of the tiles
};

/// Blocks that run at once have the same terms of tiles near each other, in bands of kBand rows, whose operands stay in the
/// cache.
template <class Args>
REPDL_LANE ProductUnit UnitOf(const Args& args, int64_t index) {
  constexpr int64_t kBand = 8;
  ProductUnit unit{};
  int64_t band = scalar::TakeRemainder(index, args.tile_rows * args.tile_cols);
  unit.part = scalar::TakeRemainder(index, args.num_parts);
  unit.matrix = index;
  int64_t in_band = scalar::TakeRemainder(band, kBand * args.tile_cols);
  const int64_t first = band * kBand, rest = args.tile_rows - first;
  unit.row = first + scalar::TakeRemainder(in_band, rest < kBand ? rest : kBand);
  unit.col = in_band;
  return unit;
}

/// The results of a thread in one tile after the other, as the walk visits the terms.
template <class Tile, class Args>
class TileVisitor {
 public:
  using T = typename Tile::T;
  using Terms = decltype(PartOf(std::declval<Args>().chunks, 0, 0));

  static constexpr bool kMayMask = Args::Right::kMayMask;
  /// Behind the stages, a byte for each number of the right operand says whether it is there.
  static constexpr size_t kFlags = kMayMask ? Tile::kTerms * Tile::kCols : 0;
  static constexpr size_t kSharedBytes = Tile::kStages * (Tile::kStage * sizeof(T) + kFlags);

  __device__ __forceinline__ explicit TileVisitor(const Args& args) : args_(args) {
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
    // Two rows of threads alternate, and of their eights so do those below: the pattern of addresses that shared memory
    // serves at its full rate.
    const int lane_row = (thread & 1) | (thread >> 3 & 2), lane_col = thread >> 1 & 7;
    row_ = warp / Tile::kColWarps * (Tile::kWarpRows * Tile::kThreadRows) + lane_row * Tile::kPiece;
    col_ = warp % Tile::kColWarps * (Tile::kWarpCols * Tile::kThreadCols) + lane_col * Tile::kPiece;
    shared_ = SharedMemory<T>();
  }

  __device__ __forceinline__ void Run(const ProductUnit& unit) {
    const int64_t first = unit.part * args_.part_chunks, rest = args_.chunks.count - first;
    const Terms chunks = PartOf(args_.chunks, first, rest < args_.part_chunks ? rest : args_.part_chunks);
    const int64_t begin = args_.chunks.Begin(first);
    const int64_t row = unit.row * Tile::kRows, col = unit.col * Tile::kCols;
    left_.Begin(args_.left, unit.matrix, row, begin);
    right_.Begin(args_.right, unit.matrix, col, begin);
    last_row_ = LastOf<Tile::kRows>(args_.left.lines - row);
    last_col_ = LastOf<Tile::kCols>(args_.right.lines - col);
    chunks_ = &chunks;
    to_copy_.Begin(chunks);
    stage_ = copy_stage_ = 0;
    __syncthreads();  // the steps of the tile before are at their end, so its stages are free
    for (int i = 0; i < Tile::kStages - 1; ++i) Copy();
    WalkChunks(chunks, *this);
    Store(unit, row, col);
  }

  // What the walk asks for.
  __device__ __forceinline__ void Chain(int64_t begin, int64_t end) {
#pragma unroll
    for (int i = 0; i < Tile::kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kThreadCols; ++j) acc_[i][j] = T{0};
    }
    for (int64_t k = begin; k < end; k += Tile::kTerms) {
      Step(end - k < Tile::kTerms ? static_cast<int>(end - k) : Tile::kTerms);
    }
  }
  __device__ __forceinline__ void TakeIn(int level) {
    const T* from = WaitingAt(level);
    ForPieces([&](T* piece) {
      T waits[Tile::kPiece];
      LoadPiece(from, waits);
#pragma unroll
      for (int e = 0; e < Tile::kPiece; ++e) piece[e] = scalar::Add(waits[e], piece[e]);
      from += Tile::kPiece * Tile::kThreads;
    });
  }
  __device__ __forceinline__ void Park(int level) {
    T* to = WaitingAt(level);
    ForPieces([&](const T* piece) {
      StorePiece(piece, to);
      to += Tile::kPiece * Tile::kThreads;
    });
  }
  __device__ __forceinline__ void End() {}

 private:
  template <int kLines>
  __device__ __forceinline__ static int LastOf(int64_t lines) {
    return lines < kLines ? static_cast<int>(lines) - 1 : kLines - 1;
  }

  /// f(piece) for all results of the thread.
  template <class F>
  __device__ __forceinline__ void ForPieces(const F& f) {
#pragma unroll
    for (int i = 0; i < Tile::kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kThreadCols; j += Tile::kPiece) f(acc_[i] + j);
    }
  }
  /// Where the first piece of the thread waits. Those of the other threads lie beside it.
  __device__ __forceinline__ T* WaitingAt(int level) const {
    const int64_t tile = int64_t{blockIdx.x} * args_.num_levels + level;
    return args_.waiting + tile * (Tile::kRows * Tile::kCols) + static_cast<int>(threadIdx.x) * Tile::kPiece;
  }

  /// Begins to copy the terms of the next step that is not on its way, if there is one.
  __device__ __forceinline__ void Copy() {
    if (const int num_k = to_copy_.Next(*chunks_); num_k > 0) {
      T* const to = shared_ + copy_stage_ * Tile::kStage;
      left_.Copy(args_.left, num_k, to, nullptr);
      right_.Copy(args_.right, num_k, to + Tile::kTerms * Tile::kRowPitch, FlagsOf(copy_stage_));
    }
    __pipeline_commit();  // also without a copy: the steps are counted
    copy_stage_ = Next(copy_stage_);
  }
  __device__ __forceinline__ static int Next(int stage) { return stage + 1 == Tile::kStages ? 0 : stage + 1; }

  __device__ __forceinline__ void Step(int num_k) {
    __pipeline_wait_prior(Tile::kStages - 2);
    __syncthreads();  // what others have copied is there, and all have left the stage that is copied to next
    Copy();
    const T* a = shared_ + stage_ * Tile::kStage + row_;
    const T* b = shared_ + stage_ * Tile::kStage + Tile::kTerms * Tile::kRowPitch + col_;
    if (IsMasked()) {
      const uint8_t* const present = FlagsOf(stage_) + col_;
#pragma unroll 1
      for (int k = 0; k < num_k; ++k) {
        MultiplyTerm<kMayMask>(a + k * Tile::kRowPitch, b + k * Tile::kColPitch, present + k * Tile::kCols);
      }
    } else if (num_k == Tile::kTerms) {
#pragma unroll
      for (int k = 0; k < Tile::kTerms; ++k) {
        MultiplyTerm<false>(a + k * Tile::kRowPitch, b + k * Tile::kColPitch, nullptr);
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < num_k; ++k) {
        MultiplyTerm<false>(a + k * Tile::kRowPitch, b + k * Tile::kColPitch, nullptr);
      }
    }
    stage_ = Next(stage_);
  }
  __device__ __forceinline__ bool IsMasked() const {
    if constexpr (kMayMask) {
      return args_.right.masked;
    } else {
      return false;
    }
  }
  /// Of a stage.
  __device__ __forceinline__ uint8_t* FlagsOf(int stage) const {
    return reinterpret_cast<uint8_t*>(shared_ + Tile::kStages * Tile::kStage) + stage * static_cast<int>(kFlags);
  }

  /// The chain of a column skips a term that is not there.
  template <bool kMasked>
  __device__ __forceinline__ void MultiplyTerm(const T* a, const T* b, const uint8_t* present) {
    [[maybe_unused]] bool is_there[Tile::kThreadCols];
    if constexpr (kMasked) {
#pragma unroll
      for (int j = 0; j < Tile::kThreadCols; ++j) is_there[j] = present[Spread<Tile::kWarpCols>(j)] != 0;
    }
    T x[Tile::kThreadRows], y[Tile::kThreadCols];
#pragma unroll
    for (int i = 0; i < Tile::kThreadRows; i += Tile::kPiece) LoadPiece(a + i * Tile::kWarpRows, x + i);
#pragma unroll
    for (int j = 0; j < Tile::kThreadCols; j += Tile::kPiece) LoadPiece(b + j * Tile::kWarpCols, y + j);
#pragma unroll
    for (int i = 0; i < Tile::kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kThreadCols; ++j) {
        if constexpr (kMasked) {
          if (!is_there[j]) continue;
        }
        acc_[i][j] = scalar::Fma(x[i], y[j], acc_[i][j]);
      }
    }
  }

  /// Where row or column i of a thread is in the tile, behind its first one.
  template <int kThreads>
  __device__ __forceinline__ static int Spread(int i) {
    return i / Tile::kPiece * (kThreads * Tile::kPiece) + i % Tile::kPiece;
  }

  /// `tile_row` and `tile_col` are those of the tile in its matrix.
  __device__ __forceinline__ void Store(const ProductUnit& unit, int64_t tile_row, int64_t tile_col) {
#pragma unroll
    for (int j = 0; j < Tile::kThreadCols; j += Tile::kPiece) {
      const int col = col_ + Spread<Tile::kWarpCols>(j), count = last_col_ - col + 1;
      if (count <= 0) continue;
      const auto columns = args_.sink.template At<Tile::kPiece>(unit.matrix, unit.part, tile_col + col, count);
#pragma unroll
      for (int i = 0; i < Tile::kThreadRows; ++i) {
        const int row = row_ + Spread<Tile::kWarpRows>(i);
        if (row > last_row_) continue;
        T values[Tile::kPiece];
#pragma unroll
        for (int e = 0; e < Tile::kPiece; ++e) values[e] = acc_[i][j + e];
        columns.Put(tile_row + row, values);
      }
    }
  }

  const Args& args_;
  T acc_[Tile::kThreadRows][Tile::kThreadCols];
  int row_, col_;  // of the first result of the thread in a tile
  T* shared_;
  typename Args::Left::template Copier<Tile, Tile::kRows> left_;
  typename Args::Right::template Copier<Tile, Tile::kCols> right_;
  // Of the tile: its last row and column that are there, its terms, and those that are to be copied.
  int last_row_ = 0, last_col_ = 0;
  const Terms* chunks_ = nullptr;
  CopySteps<Tile::kTerms, Terms> to_copy_;
  int stage_ = 0, copy_stage_ = 0;  // of the step, and of what is copied next
};

template <class Tile, class Args>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks) ProductKernel(const __grid_constant__ Args args) {
  TileVisitor<Tile, Args> tile(args);
  for (int64_t unit = blockIdx.x; unit < args.num_units; unit += gridDim.x) tile.Run(UnitOf(args, unit));
}

/// Results of which each part gave a partial one: number i of part p at partial[p * count + i].
template <class T, class Sink>
struct MergeArgs {
  const T* partial;
  int64_t count, num_parts;
  int64_t rows, cols;
  Sink sink;
};

/// The top of the tree, whose leaves are the parts.
template <class T>
class MergeVisitor {
 public:
  __device__ __forceinline__ MergeVisitor(const T* partial, int64_t step, T* waiting)
      : partial_(partial), step_(step), waiting_(waiting) {}

  __device__ __forceinline__ void Chain(int64_t part, int64_t) { value_ = partial_[part * step_]; }
  __device__ __forceinline__ void TakeIn(int level) { value_ = scalar::Add(waiting_[level], value_); }
  __device__ __forceinline__ void Park(int level) { waiting_[level] = value_; }
  __device__ __forceinline__ void End() {}
  __device__ __forceinline__ T value() const { return value_; }

 private:
  const T* partial_;
  int64_t step_;
  T value_;
  T* waiting_;  // kMaxPartLevels values; not here, so that the rest stays in registers
};

template <class T, class Sink>
__global__ void __launch_bounds__(kThreadsPerBlock) MergeKernel(const __grid_constant__ MergeArgs<T, Sink> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.count; i += num_threads) {
    T waiting[kMaxPartLevels];
    MergeVisitor<T> visitor(args.partial + i, args.count, waiting);
    WalkChunks(Chunks(args.num_parts, 1), visitor);
    int64_t matrix = i;
    const int64_t col = scalar::TakeRemainder(matrix, args.cols), row = scalar::TakeRemainder(matrix, args.rows);
    T values[] = {visitor.value()};
    args.sink.template At<1>(matrix, 0, col, 1).Put(row, values);
  }
}

template <class Tile, class Args>
void LaunchTiles(const Place& place, Args args, int64_t batch, OpScratch& scratch) {
  using T = typename Args::T;
  args.tile_rows = (args.left.lines + Tile::kRows - 1) / Tile::kRows;
  args.tile_cols = (args.right.lines + Tile::kCols - 1) / Tile::kCols;
  args.num_units = batch * args.num_parts * args.tile_rows * args.tile_cols;
  // No more blocks than run at once: each has memory of its own, where partial sums wait.
  const int64_t blocks = std::min<int64_t>(args.num_units, int64_t{Multiprocessors(place)} * Tile::kBlocks);
  args.num_levels = args.part_chunks > 1 ? NumLevels(args.part_chunks - 1) : 0;
  if (args.num_levels > 0) args.waiting = scratch.Get<T>(blocks * args.num_levels * Tile::kRows * Tile::kCols);
  Launch(place, Grid{blocks, Tile::kThreads, TileVisitor<Tile, Args>::kSharedBytes}, &ProductKernel<Tile, Args>, args);
}

/// The product of what the arguments name, operands, chunks and sink, by a plan.
template <class Args>
void RunProduct(const Place& place, Args args, const ProductSizes& sizes, const ProductPlan& plan) {
  using T = typename Args::T;
  using Sink = typename Args::Sink;
  OpScratch scratch(place);
  const int64_t rows = args.left.lines, cols = args.right.lines, count = sizes.batch * rows * cols;
  const Sink sink = args.sink;
  const bool in_parts = plan.num_parts > 1;
  args.num_parts = plan.num_parts;
  args.part_chunks = in_parts ? plan.part_terms / sizes.chain : args.chunks.count;
  T* const partial = in_parts ? scratch.Get<T>(count * plan.num_parts) : nullptr;
  if (in_parts) args.sink = Sink::Partial(partial, rows, cols, sizes.batch);
  switch (plan.tiles) {
    case ProductTiles::kLarge: LaunchTiles<typename TileOf<T>::Large>(place, args, sizes.batch, scratch); break;
    case ProductTiles::kSmall: LaunchTiles<typename TileOf<T>::Small>(place, args, sizes.batch, scratch); break;
    case ProductTiles::kFlat: LaunchTiles<typename TileOf<T>::Flat>(place, args, sizes.batch, scratch); break;
  }
  if (in_parts) Launch(place, count, &MergeKernel<T, Sink>, {partial, count, plan.num_parts, rows, cols, sink});
}

}  // namespace repdl::cuda
