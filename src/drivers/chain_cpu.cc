// SPDX-License-Identifier: MIT
#include "drivers/chain.h"

#include <array>
#include <utility>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/tile_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

constexpr int64_t kCols = kTileColsOf<double>;
/// Terms that are packed together, so that a panel of b stays in the first cache. It does not reach the bits.
constexpr int64_t kBlockK = 128;

/// A tile of c in registers; a is packed and negated: a[k * kRows + i].
template <int kRows>
HWY_NOINLINE void RunTile(int64_t k, const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, int64_t b_stride,
                          double* HWY_RESTRICT c, int64_t c_stride, int64_t cols) {
  const TagOf<double> d;
  VecElementOf<double> acc[kRows][kTileVecs];
  const bool whole = cols >= kCols;
  const auto left = [&](int v) HWY_ATTR { return std::max<int64_t>(0, cols - v * kLanesOf<double>); };
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVecs; ++v) {
      const double* const from = c + i * c_stride + v * kLanesOf<double>;
      acc[i][v] = whole ? LoadU(d, from) : left(v) == 0 ? Zero(d) : LoadN(from, left(v));
    }
  }
  for (int64_t q = 0; q < k; ++q, a += kRows, b += b_stride) {
    VecElementOf<double> row[kTileVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kTileVecs; ++v) {
      const double* const from = b + v * kLanesOf<double>;
      row[v] = whole ? LoadU(d, from) : left(v) == 0 ? Zero(d) : LoadN(from, left(v));
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const VecOf<double> times = Set(d, a[i]);
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Fma<VecOf<double>>(times, row[v], acc[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVecs; ++v) {
      if (left(v) > 0) StoreN<double>(acc[i][v], c + i * c_stride + v * kLanesOf<double>, left(v));
    }
  }
}

using RunTileFn = void (*)(int64_t, const double*, const double*, int64_t, double*, int64_t, int64_t);

template <int... kRows>
constexpr auto Tiles(std::integer_sequence<int, kRows...>) {
  return std::array<RunTileFn, sizeof...(kRows)>{&RunTile<kRows + 1>...};
}

void Columns(const ChainArgs& args, const RowTiles& tiles, const double* packed, int64_t k, int64_t num_k,
             int64_t j_begin, int64_t j_end) {
  static constexpr auto kTiles = Tiles(std::make_integer_sequence<int, kTileRows>());
  for (int64_t j = j_begin; j < j_end; j += kCols) {
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t i = tiles.Begin(t);
      if (args.upper && i >= j + kCols) break;
      kTiles[tiles.Rows(t) - 1](num_k, packed + i * num_k, args.b + k * args.b_row_stride + j, args.b_row_stride,
                                args.c + i * args.c_row_stride + j, args.c_row_stride, args.n - j);
    }
  }
}

/// Numbers [k, k + num_k) of all rows of a, negated, tile by tile.
void PackNegated(const ChainArgs& args, const RowTiles& tiles, int64_t k, int64_t num_k, double* packed) {
  if (args.a_row_stride == 1) {
    // As they lie in memory: other threads have written many of them.
    for (int64_t q = 0; q < num_k; ++q) {
      const double* const from = args.a + (k + q) * args.a_col_stride;
      for (int64_t t = 0; t < tiles.count; ++t) {
        const int64_t begin = tiles.Begin(t), rows = tiles.Rows(t);
        double* const to = packed + begin * num_k + q * rows;
        ForVectors<double>(
            rows, [&](int64_t i, int64_t n) HWY_ATTR { StoreN<double>(Neg(LoadN(from + begin + i, n)), to + i, n); });
      }
    }
    return;
  }
  const MatrixOf<double> a{args.a, args.a_row_stride, args.a_col_stride};
  for (int64_t t = 0; t < tiles.count; ++t) {
    PackRows(a, tiles.Begin(t), tiles.Rows(t), k, num_k, packed + tiles.Begin(t) * num_k);
  }
  ForVectors<double>(args.m * num_k,
                     [&](int64_t i, int64_t n) HWY_ATTR { StoreN<double>(Neg(LoadN(packed + i, n)), packed + i, n); });
}

}  // namespace

void SubtractProduct(const ChainArgs& args) {
  if (args.m == 0 || args.n == 0) return;
  const RowTiles tiles{args.m};
  Scratch scratch;
  double* const packed = scratch.Get<double>(args.m * std::min(args.k, kBlockK) + kLanesOf<double>);
  for (int64_t k = 0; k < args.k; k += kBlockK) {
    const int64_t num_k = std::min(kBlockK, args.k - k);
    PackNegated(args, tiles, k, num_k, packed);
    // Ten µs of work are worth a fork: a factorization makes many.
    const int64_t panels = (args.n + kCols - 1) / kCols, grain = 150000 / (args.m * num_k * kCols) + 1;
    ParallelRanges(panels, grain, [&](int64_t begin, int64_t end) {
      Columns(args, tiles, packed, k, num_k, begin * kCols, std::min(args.n, end * kCols));
    });
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
