// SPDX-License-Identifier: MIT
// Products on CUDA. A block of threads computes tile after tile of the result, each by the walk of numerics/order.h.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/cuda_launch.h"
#include "base/op_scratch.h"
#include "drivers/loops_cuda_thread.h"
#include "drivers/product_plan.h"
#include "numerics/lanes/scalar.h"
#include "numerics/order.h"

namespace repdl::cuda {

/// How the numbers of a tile are copied to shared memory: in pieces of 16 bytes, which lie so along the lines; or one by
/// one, neighbours along the lines or along k.
enum class CopyWay { kPieces, kAlongLines, kAlongK };

/// An operand of a product: `lines` rows of the left one, or columns of the right one, whatever its layout.
template <class T>
struct ProductOperand {
  const T* data;
  int64_t lines, line_stride, k_stride;
  scalar::DeviceLoops batch;
  CopyWay way;
};

template <class T>
struct ProductArgs {
  ProductOperand<T> left, right;
  int64_t k, chain;  // terms, after `chain` of which a chain restarts
  int64_t part_terms, num_parts;
  int64_t tile_rows, tile_cols;  // the tiles of one matrix
  int64_t num_units;             // of work: each tile, for each part of its terms
  // Result (i, j) of a matrix, or what the first part gives for it.
  T* c;
  int64_t c_row_stride, c_col_stride, c_matrix_stride, c_part_stride;
  bool c_in_pieces;  // of 16 bytes along rows
  const T* bias;     // null, or what is added at the end
  int64_t bias_row_stride, bias_col_stride;
  T* waiting;  // partial sums of the blocks
  int num_levels;
};

/// A tile of kRows x kCols results. Each thread has kThreadRows x kThreadCols of them in registers; a step multiplies
/// kTerms terms, which lie in shared memory, and those of the next kStages - 1 steps are on their way there.
template <class Number, int rows, int cols, int terms, int thread_rows, int thread_cols, int stages, int blocks>
struct ProductTile {
  using T = Number;
  static constexpr int kRows = rows, kCols = cols, kTerms = terms, kStages = stages;
  static constexpr int kThreadRows = thread_rows, kThreadCols = thread_cols;
  static constexpr int kBlocks = blocks;  // that a multiprocessor runs at once
  /// Numbers of 16 bytes: the rows and columns of a thread come in such pieces.
  static constexpr int kPiece = 16 / sizeof(T);
  /// The threads of a warp.
  static constexpr int kWarpRows = 4, kWarpCols = 8;
  static constexpr int kRowWarps = kRows / (kWarpRows * kThreadRows), kColWarps = kCols / (kWarpCols * kThreadCols);
  static constexpr int kThreads = 32 * kRowWarps * kColWarps;
  /// From term to term in shared memory: a piece more, so that numbers copied along k meet different banks.
  static constexpr int kRowPitch = kRows + kPiece, kColPitch = kCols + kPiece;
  static constexpr int kStage = kTerms * (kRowPitch + kColPitch);
  static constexpr size_t kSharedBytes = size_t{kStages} * kStage * sizeof(T);

  static_assert(kRows % (kWarpRows * kThreadRows) == 0 && kCols % (kWarpCols * kThreadCols) == 0);
  static_assert(kThreadRows % kPiece == 0 && kThreadCols % kPiece == 0);
  // Then every step but the last of a part is whole, and ends no later than its chain.
  static_assert(kProductChunk % kTerms == 0);
};

template <class T>
struct TileOf;
template <>
struct TileOf<float> {
  using Large = ProductTile<float, 128, 128, 16, 8, 8, 2, 2>;
  using Small = ProductTile<float, 64, 64, 16, 8, 4, 3, 4>;
  using Flat = ProductTile<float, 16, 128, 16, 4, 4, 4, 4>;
};
template <>
struct TileOf<double> {
  using Large = ProductTile<double, 64, 128, 8, 8, 8, 3, 2>;
  using Small = ProductTile<double, 64, 64, 8, 8, 4, 3, 3>;
  using Flat = ProductTile<double, 16, 128, 8, 4, 4, 4, 4>;
};

/// Numbers of 16 bytes at an address that is a multiple of 16.
__device__ __forceinline__ void LoadPiece(const float* from, float* to) {
  const float4 piece = *reinterpret_cast<const float4*>(from);
  to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
}
__device__ __forceinline__ void LoadPiece(const double* from, double* to) {
  const double2 piece = *reinterpret_cast<const double2*>(from);
  to[0] = piece.x, to[1] = piece.y;
}
__device__ __forceinline__ void StorePiece(const float* from, float* to) {
  *reinterpret_cast<float4*>(to) = float4{from[0], from[1], from[2], from[3]};
}
__device__ __forceinline__ void StorePiece(const double* from, double* to) {
  *reinterpret_cast<double2*>(to) = double2{from[0], from[1]};
}

/// Copies what a thread copies of kLines lines of an operand: numbers, or pieces of them, that are constant steps apart. What
/// is not there is not copied: it is multiplied too, and gives results that are stored nowhere.
template <class Tile, int kLines>
class LineCopier {
 public:
  using T = typename Tile::T;

  /// Begins with these lines of a matrix at this term.
  __device__ __forceinline__ void Begin(const ProductOperand<T>& x, int64_t matrix, int64_t line, int64_t k) {
    const int thread = static_cast<int>(threadIdx.x);
    int first_line = 0;
    if (x.way == CopyWay::kPieces) {
      first_line = thread % kLinePieces * Tile::kPiece, k_ = thread / kLinePieces;
    } else if (x.way == CopyWay::kAlongLines) {
      first_line = thread % kLines, k_ = thread / kLines;
    } else {
      first_line = thread / kEight, k_ = thread % kEight;
    }
    const int64_t num_lines = x.lines - line;
    num_lines_ = (num_lines < kLines ? static_cast<int>(num_lines) : kLines) - first_line;
    to_ = k_ * kPitch + first_line;
    from_ = x.data + x.batch.Offset(matrix) + (line + first_line) * x.line_stride + (k + k_) * x.k_stride;
  }

  /// Begins to copy `num_k` terms, and goes on to those behind them.
  __device__ __forceinline__ void Copy(const ProductOperand<T>& x, int num_k, T* stage) {
    T* const to = stage + to_;
    if (x.way == CopyWay::kPieces) {
      constexpr int kStep = Tile::kThreads / kLinePieces;
#pragma unroll
      for (int k = 0; k < Tile::kTerms; k += kStep) {
        if (k_ + k >= num_k) continue;
        const T* const from = from_ + k * x.k_stride;
        if (num_lines_ >= Tile::kPiece) {
          __pipeline_memcpy_async(to + k * kPitch, from, 16);
        } else {
          for (int e = 0; e < num_lines_; ++e) __pipeline_memcpy_async(to + k * kPitch + e, from + e, sizeof(T));
        }
      }
    } else if (x.way == CopyWay::kAlongLines) {
      constexpr int kStep = Tile::kThreads / kLines;
#pragma unroll
      for (int k = 0; k < Tile::kTerms; k += kStep) {
        if (num_lines_ <= 0 || k_ + k >= num_k) continue;
        __pipeline_memcpy_async(to + k * kPitch, from_ + k * x.k_stride, sizeof(T));
      }
    } else {
      constexpr int kStep = Tile::kThreads / kEight;
#pragma unroll
      for (int k = 0; k < Tile::kTerms; k += kEight) {
#pragma unroll
        for (int line = 0; line < kLines; line += kStep) {
          if (line >= num_lines_ || k_ + k >= num_k) continue;
          __pipeline_memcpy_async(to + k * kPitch + line, from_ + line * x.line_stride + k * x.k_stride, sizeof(T));
        }
      }
    }
    from_ += Tile::kTerms * x.k_stride;
  }

 private:
  /// Terms of a line that lie side by side: a sector of memory. A warp copies those of four lines.
  static constexpr int kEight = 8;
  static constexpr int kLinePieces = kLines / Tile::kPiece, kPitch = kLines + Tile::kPiece;
  static_assert(Tile::kThreads % kLinePieces == 0 && Tile::kThreads % kLines == 0);
  static_assert(Tile::kTerms % kEight == 0 && Tile::kThreads / kEight <= kLines);

  // Of the first number: where it lies, where it goes in a stage, its term; and how many lines there are from its own on.
  const T* from_ = nullptr;
  int to_ = 0, k_ = 0, num_lines_ = 0;
};

/// A unit of work: a part of the terms of a tile.
struct ProductUnit {
  int64_t matrix, part, row, col;  // of the tiles
};

/// Blocks that run at once have the same terms of tiles near each other, in bands of kBand rows, whose operands stay in the
/// cache.
template <class T>
REPDL_LANE ProductUnit UnitOf(const ProductArgs<T>& args, int64_t index) {
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
template <class Tile>
class TileVisitor {
 public:
  using T = typename Tile::T;

  __device__ __forceinline__ explicit TileVisitor(const ProductArgs<T>& args) : args_(args) {
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
    // Two rows of threads alternate, and of their eights so do those below: the pattern of addresses that shared memory
    // serves at its full rate.
    const int lane_row = (thread & 1) | (thread >> 3 & 2), lane_col = thread >> 1 & 7;
    row_ = warp / Tile::kColWarps * (Tile::kWarpRows * Tile::kThreadRows) + lane_row * Tile::kPiece;
    col_ = warp % Tile::kColWarps * (Tile::kWarpCols * Tile::kThreadCols) + lane_col * Tile::kPiece;
    shared_ = SharedMemory<T>();
  }

  __device__ __forceinline__ void Run(const ProductUnit& unit) {
    const int64_t begin = unit.part * args_.part_terms;
    const int64_t rest = args_.k - begin, num_terms = rest < args_.part_terms ? rest : args_.part_terms;
    const int64_t row = unit.row * Tile::kRows, col = unit.col * Tile::kCols;
    left_.Begin(args_.left, unit.matrix, row, begin);
    right_.Begin(args_.right, unit.matrix, col, begin);
    last_row_ = LastOf<Tile::kRows>(args_.left.lines - row);
    last_col_ = LastOf<Tile::kCols>(args_.right.lines - col);
    to_copy_ = num_terms;
    stage_ = copy_stage_ = 0;
    __syncthreads();  // the steps of the tile before are at their end, so its stages are free
    for (int i = 0; i < Tile::kStages - 1; ++i) Copy();
    WalkChunks(Chunks(num_terms, args_.chain), *this);
    Store(args_.c + unit.matrix * args_.c_matrix_stride + unit.part * args_.c_part_stride, row, col);
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
    if (to_copy_ > 0) {
      const int num_k = to_copy_ < Tile::kTerms ? static_cast<int>(to_copy_) : Tile::kTerms;
      T* const to = shared_ + copy_stage_ * Tile::kStage;
      left_.Copy(args_.left, num_k, to);
      right_.Copy(args_.right, num_k, to + Tile::kTerms * Tile::kRowPitch);
      to_copy_ -= num_k;
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
    if (num_k == Tile::kTerms) {
#pragma unroll
      for (int k = 0; k < Tile::kTerms; ++k) MultiplyTerm(a + k * Tile::kRowPitch, b + k * Tile::kColPitch);
    } else {
#pragma unroll 1
      for (int k = 0; k < num_k; ++k) MultiplyTerm(a + k * Tile::kRowPitch, b + k * Tile::kColPitch);
    }
    stage_ = Next(stage_);
  }

  __device__ __forceinline__ void MultiplyTerm(const T* a, const T* b) {
    T x[Tile::kThreadRows], y[Tile::kThreadCols];
#pragma unroll
    for (int i = 0; i < Tile::kThreadRows; i += Tile::kPiece) LoadPiece(a + i * Tile::kWarpRows, x + i);
#pragma unroll
    for (int j = 0; j < Tile::kThreadCols; j += Tile::kPiece) LoadPiece(b + j * Tile::kWarpCols, y + j);
#pragma unroll
    for (int i = 0; i < Tile::kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kThreadCols; ++j) acc_[i][j] = scalar::Fma(x[i], y[j], acc_[i][j]);
    }
  }

  /// Where row or column i of a thread is in the tile, behind its first one.
  template <int kThreads>
  __device__ __forceinline__ static int Spread(int i) {
    return i / Tile::kPiece * (kThreads * Tile::kPiece) + i % Tile::kPiece;
  }

  /// `tile_row` and `tile_col` are those of the tile in its matrix, which begins at `c`.
  __device__ __forceinline__ void Store(T* c, int64_t tile_row, int64_t tile_col) {
#pragma unroll
    for (int i = 0; i < Tile::kThreadRows; ++i) {
      const int row = row_ + Spread<Tile::kWarpRows>(i);
      if (row > last_row_) continue;
      T* const c_row = c + (tile_row + row) * args_.c_row_stride;
#pragma unroll
      for (int j = 0; j < Tile::kThreadCols; j += Tile::kPiece) {
        const int col = col_ + Spread<Tile::kWarpCols>(j);
        if (args_.bias != nullptr) {
          const T* const bias = args_.bias + (tile_row + row) * args_.bias_row_stride;
#pragma unroll
          for (int e = 0; e < Tile::kPiece; ++e) {
            if (col + e > last_col_) continue;
            acc_[i][j + e] = scalar::Add(acc_[i][j + e], bias[(tile_col + col + e) * args_.bias_col_stride]);
          }
        }
        if (args_.c_in_pieces && col + Tile::kPiece - 1 <= last_col_) {
          StorePiece(acc_[i] + j, c_row + tile_col + col);
          continue;
        }
#pragma unroll
        for (int e = 0; e < Tile::kPiece; ++e) {
          if (col + e <= last_col_) c_row[(tile_col + col + e) * args_.c_col_stride] = acc_[i][j + e];
        }
      }
    }
  }

  const ProductArgs<T>& args_;
  T acc_[Tile::kThreadRows][Tile::kThreadCols];
  int row_, col_;  // of the first result of the thread in a tile
  T* shared_;
  LineCopier<Tile, Tile::kRows> left_;
  LineCopier<Tile, Tile::kCols> right_;
  // Of the tile: its last row and column that are there, and the terms that are to be copied.
  int last_row_ = 0, last_col_ = 0;
  int64_t to_copy_ = 0;
  int stage_ = 0, copy_stage_ = 0;  // of the step, and of what is copied next
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    ProductKernel(const __grid_constant__ ProductArgs<typename Tile::T> args) {
  TileVisitor<Tile> tile(args);
  for (int64_t unit = blockIdx.x; unit < args.num_units; unit += gridDim.x) tile.Run(UnitOf(args, unit));
}

/// Results of which each part gave a partial one: number i of part p at partial[p * count + i].
template <class T>
struct MergeArgs {
  const T* partial;
  int64_t count, num_parts;
  T* c;
  int64_t num_cols;
  const T* bias;  // null, or one number a column
  int64_t bias_stride;
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

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) MergeKernel(const __grid_constant__ MergeArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.count; i += num_threads) {
    T waiting[kMaxPartLevels];
    MergeVisitor<T> visitor(args.partial + i, args.count, waiting);
    WalkChunks(Chunks(args.num_parts, 1), visitor);
    T value = visitor.value();
    if (args.bias != nullptr) {
      int64_t rest = i;
      value = scalar::Add(value, args.bias[scalar::TakeRemainder(rest, args.num_cols) * args.bias_stride]);
    }
    args.c[i] = value;
  }
}

/// c = a b (+ bias) for each matrix of a batch; c is row-major, and its matrices lie side by side.
template <class T>
struct ProductCall {
  int64_t m, n, k, batch, chain;
  ProductOperand<T> a, b;  // the rows of a, the columns of b; how they are copied is found here
  T* c;
  const T* bias;  // null, or one number a column
  int64_t bias_stride;

  ProductSizes Sizes() const { return {m, n, k, batch, chain, sizeof(T)}; }
};

/// Whether 16 bytes may be copied from or to a pointer, and from or to those that are steps of these strides away.
template <class T>
bool InPieces(const T* data, std::initializer_list<int64_t> strides) {
  const auto whole = [](int64_t stride) { return stride % (16 / static_cast<int64_t>(sizeof(T))) == 0; };
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && std::all_of(strides.begin(), strides.end(), whole);
}

template <class T>
CopyWay WayOf(const ProductOperand<T>& x) {
  const auto size = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  if (x.lines == 1 || size(x.k_stride) < size(x.line_stride)) return CopyWay::kAlongK;
  bool in_pieces = x.line_stride == 1 && InPieces(x.data, {x.k_stride});
  for (int dim = 0; dim < x.batch.rank; ++dim) in_pieces = in_pieces && InPieces(x.data, {x.batch.strides[dim]});
  return in_pieces ? CopyWay::kPieces : CopyWay::kAlongLines;
}

template <class Tile, class T>
void LaunchTiles(const Place& place, ProductArgs<T> args, int64_t batch, OpScratch& scratch) {
  args.tile_rows = (args.left.lines + Tile::kRows - 1) / Tile::kRows;
  args.tile_cols = (args.right.lines + Tile::kCols - 1) / Tile::kCols;
  args.num_units = batch * args.num_parts * args.tile_rows * args.tile_cols;
  // No more blocks than run at once: each has memory of its own, where partial sums wait.
  const int64_t blocks = std::min<int64_t>(args.num_units, int64_t{Multiprocessors(place)} * Tile::kBlocks);
  const Chunks chunks(args.part_terms, args.chain);
  args.num_levels = chunks.count > 1 ? NumLevels(chunks.count - 1) : 0;
  if (args.num_levels > 0) args.waiting = scratch.Get<T>(blocks * args.num_levels * Tile::kRows * Tile::kCols);
  Launch(place, Grid{blocks, Tile::kThreads, Tile::kSharedBytes}, &ProductKernel<Tile>, args);
}

/// The product by a plan.
template <class T>
void Product(const Place& place, const ProductCall<T>& call, const ProductPlan& plan) {
  OpScratch scratch(place);
  ProductArgs<T> args{};
  args.left = call.a, args.right = call.b;
  args.k = call.k, args.chain = call.chain;
  args.part_terms = plan.part_terms, args.num_parts = plan.num_parts;
  const int64_t count = call.batch * call.m * call.n;
  const bool in_parts = plan.num_parts > 1;
  args.c = in_parts ? scratch.Get<T>(count * plan.num_parts) : call.c;
  args.c_row_stride = call.n, args.c_col_stride = 1;
  args.c_matrix_stride = call.m * call.n, args.c_part_stride = count;
  if (!in_parts) args.bias = call.bias, args.bias_col_stride = call.bias_stride;
  if (plan.transposed) {
    std::swap(args.left, args.right);
    std::swap(args.c_row_stride, args.c_col_stride);
    std::swap(args.bias_row_stride, args.bias_col_stride);
  }
  args.left.way = WayOf(args.left), args.right.way = WayOf(args.right);
  args.c_in_pieces =
      args.c_col_stride == 1 && InPieces(args.c, {args.c_row_stride, args.c_matrix_stride, args.c_part_stride});
  switch (plan.tiles) {
    case ProductTiles::kLarge: LaunchTiles<typename TileOf<T>::Large>(place, args, call.batch, scratch); break;
    case ProductTiles::kSmall: LaunchTiles<typename TileOf<T>::Small>(place, args, call.batch, scratch); break;
    case ProductTiles::kFlat: LaunchTiles<typename TileOf<T>::Flat>(place, args, call.batch, scratch); break;
  }
  if (!in_parts) return;
  Launch(place, count, &MergeKernel<T>, {args.c, count, plan.num_parts, call.c, call.n, call.bias, call.bias_stride});
}

template <class T>
void Product(const Place& place, const ProductCall<T>& call) {
  Product(place, call, PlanProduct(call.Sizes(), Multiprocessors(place)));
}

}  // namespace repdl::cuda
