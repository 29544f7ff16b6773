// SPDX-License-Identifier: MIT
// The gradient by the input where patches do not overlap.
#pragma once

#include <vector>

#include "base/parallel.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Where the columns of patches go: rows are (channel, tap), columns (image, place of the source).
template <class T>
struct PatchSink {
  const int64_t *row_offsets, *col_offsets;
  T* result;
  int64_t taps, num_cols;
  const T* bias;      // null, or one number a channel
  int64_t first_row;  // of the product, of a share of it

  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    const int64_t cols = std::min<int64_t>(kTileColsOf<T>, num_cols - j);
    for (int r = 0, run; r < rows; r += run) {
      const int64_t* const offsets = row_offsets + i + r;
      for (run = 1; r + run < rows && run < kLanesOf<T> && offsets[run] == offsets[0] + run;) ++run;
      for (int64_t q = 0; q < cols; q += kLanesOf<T>) {
        StoreRun(i + r, run, col_offsets + j + q, std::min(kLanesOf<T>, cols - q), tile + r * kTileColsOf<T> + q);
      }
    }
  }

 private:
  /// `run` rows that lie side by side in each column, of up to a vector of columns.
  void StoreRun(int64_t i, int run, const int64_t* offsets, int64_t cols, const T* tile) const {
    const TagOf<T> d;
    T* const to = result + row_offsets[i];
    const auto row = [&](int64_t r) HWY_ATTR {
      const VecOf<T> values = LoadU(d, tile + r * kTileColsOf<T>);
      return bias == nullptr ? values : Add(values, Set(d, bias[(first_row + i + r) / taps]));
    };
#if HWY_TARGET != HWY_SCALAR
    if (run == 2 && cols == kLanesOf<T> && offsets[cols - 1] == offsets[0] + 2 * (cols - 1)) {
      return hn::StoreInterleaved2(row(0), row(1), d, to + offsets[0]);
    }
    if (run >= 4) {
      VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLanesOf<T>; ++r) t[r] = row(std::min<int64_t>(r, run - 1));
      TransposeSquare<T>(t);
      for (int64_t q = 0; q < cols; ++q) StoreN(t[q], to + offsets[q], run);
      return;
    }
#endif
    HWY_ALIGN T values[kLanesOf<T>];
    for (int r = 0; r < run; ++r) {
      StoreU(row(r), d, values);
      for (int64_t q = 0; q < cols; ++q) to[offsets[q] + r] = values[q];
    }
  }
};

/// The gradient by the input where each tap has places of its own: a product of (channel, tap) by output channel, and
/// of output channel by place.
template <class T>
void OverPatches(const ConvArgs<T>& args) {
  const ConvSizes& s = args.sizes;
  const int64_t positions = NumPlaces(s.output), taps = NumPlaces(s.kernel), m = s.c * taps, plane = NumPlaces(s.input);
  const Axes whole = {s.input[1] * s.input[2], s.input[2], 1};
  const auto offset_of = [&](const Axes& sizes, int64_t place, const Axes& step) {
    return place / (sizes[1] * sizes[2]) * step[0] * whole[0] + place / sizes[2] % sizes[1] * step[1] * whole[1] +
           place % sizes[2] * step[2];
  };
  std::vector<int64_t> row_offsets, col_offsets;
  for (int64_t i = 0; i < m; ++i) row_offsets.push_back(i / taps * plane + offset_of(s.kernel, i % taps, {1, 1, 1}));
  // Few places of many images are columns of one product.
  const bool together = positions < 4 * kTileColsOf<T>;
  const int64_t products = together ? 1 : s.n, images = together ? s.n : 1, n = images * positions;
  for (int64_t j = 0; j < n; ++j) {
    col_offsets.push_back(j / positions * s.groups * s.c * plane + offset_of(s.output, j % positions, s.kernel));
  }
  Scratch scratch;
  const T* source = args.source;
  if (together) {
    T* const turned = scratch.Get<T>(s.groups * s.o * n);
    for (int64_t row = 0; row < s.groups * s.o; ++row) {
      for (int64_t image = 0; image < images; ++image) {
        std::copy_n(source + (image * s.groups * s.o + row) * positions, positions,
                    turned + (row * images + image) * positions);
      }
    }
    source = turned;
  }
  const int64_t parts = std::min<int64_t>(4 * GetNumThreads(), m * n * s.o / Grain(100000) + 1);
  const int64_t pairs = products * s.groups;
  const Grid grid = pairs >= parts ? Grid{} : CutAmong<T>(m, n, (parts + pairs - 1) / pairs);
  const int64_t panels = (n + kTileColsOf<T> - 1) / kTileColsOf<T>, shares = grid.rows * grid.cols;
  const int64_t chunk = std::min(ChainLength(args.order, s.o * taps), s.o * taps) / taps;
  ParallelFor(pairs * shares, [&](int64_t task) HWY_ATTR {
    const int64_t pair = task / shares, g = pair % s.groups, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = m * row / grid.rows, i1 = m * (row + 1) / grid.rows;
    const MatrixOf<T> weight{args.other + g * s.o * m + i0, 1, m};
    const MatrixOf<T> places{source + pair * s.o * n, n, 1};
    const PatchSink<T> sink{row_offsets.data() + i0,
                            col_offsets.data(),
                            args.result + pair * s.c * plane,
                            taps,
                            n,
                            args.bias == nullptr ? nullptr : args.bias + g * s.c,
                            i0};
    const auto product = [&](const auto& chunks) HWY_ATTR {
      TileProduct<T>(i1 - i0, panels * col / grid.cols * kTileColsOf<T>,
                     std::min(n, panels * (col + 1) / grid.cols * kTileColsOf<T>), chunks, MatrixRows<T>{weight},
                     MatrixCols<T>{places, n, ReadInPlace(m, places)}, sink, {0, s.o});
    };
    chunk < s.o && 2 * chunk <= Blocking::kMaxBlockK ? product(ShortChunks(s.o, chunk)) : product(Chunks(s.o, chunk));
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
