// SPDX-License-Identifier: MIT
// Products so small that to pack an operand would take longer than to multiply it.
#pragma once

#include "drivers/tile_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Numbers of a up to which its rows are read in place: they stay in the nearest cache while all columns meet them.
inline constexpr int64_t kMaxSmall = 2048;

/// Whether one chain per element, no more columns than a tile has, and not many more rows make the product a small one.
template <class T>
bool IsSmall(int64_t m, int64_t n, const Chunks& chunks) {
  return chunks.count == 1 && n <= kTileColsOf<T> && m <= 4 * n && m * chunks.num_terms <= kMaxSmall;
}

/// The right operand of a small product: rows of which `num_cols` columns may be read.
template <class T>
struct SmallCols {
  const T* data;
  int64_t stride;
  int64_t num_cols;
};

/// c = a b + bias for kRows rows of c and n <= kVecs vectors of columns. Rows of c lie side by side.
template <class T, int kRows, int kVecs>
HWY_NOINLINE void RunSmallRows(int64_t n, int64_t num_k, const MatrixOf<T>& a, const SmallCols<T>& b, const T* bias,
                               T* c) {
  const TagOf<T> d;
  constexpr int64_t kBeforeLast = (kVecs - 1) * kLanesOf<T>;
  const auto load = [](const T* row, int v, int64_t num_cols) HWY_ATTR {
    const T* const from = row + v * kLanesOf<T>;
    return v + 1 < kVecs ? LoadU(TagOf<T>(), from) : LoadN(from, num_cols - kBeforeLast);
  };
  VecElementOf<T> acc[kRows][kVecs];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) acc[i][v] = Zero(d);
  }
  const T* row = b.data;
  for (int64_t k = 0; k < num_k; ++k, row += b.stride) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      const VecOf<T> bv = load(row, v, b.num_cols);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) acc[i][v] = Fma<VecOf<T>>(Set(d, *a.At(i, k)), bv, acc[i][v]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    T* const to = c + i * n;
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      const VecOf<T> value = bias == nullptr ? VecOf<T>(acc[i][v]) : Add(acc[i][v], load(bias, v, n));
      if (v + 1 < kVecs) {
        StoreU(value, d, to + v * kLanesOf<T>);
      } else {
        StoreN(value, to + v * kLanesOf<T>, n - kBeforeLast);
      }
    }
  }
}

template <class T, int kVecs>
void RunSmall(int64_t m, int64_t n, int64_t num_k, const MatrixOf<T>& a, const SmallCols<T>& b, const T* bias, T* c) {
  constexpr int kRows = 4;
  static constexpr decltype(&RunSmallRows<T, kRows, kVecs>) kFewer[kRows] = {
      nullptr, &RunSmallRows<T, 1, kVecs>, &RunSmallRows<T, 2, kVecs>, &RunSmallRows<T, 3, kVecs>};
  const auto rows_from = [&a](int64_t i) { return MatrixOf<T>{a.At(i, 0), a.row_stride, a.col_stride}; };
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) RunSmallRows<T, kRows, kVecs>(n, num_k, rows_from(i), b, bias, c + i * n);
  if (i < m) kFewer[m - i](n, num_k, rows_from(i), b, bias, c + i * n);
}

/// c = a b + bias for a small product; c is row-major and without gaps, `bias` null or a number a column.
template <class T>
void SmallProduct(int64_t m, int64_t n, int64_t num_k, const MatrixOf<T>& a, const MatrixOf<T>& b, const T* bias,
                  T* c) {
  Scratch scratch;
  SmallCols<T> cols{b.data, b.row_stride, n};
  // Parts of a vector are loaded in place only where the target has masks for that.
  if ((b.col_stride != 1 && n > 1) || (!HWY_CAP_GE256 && n % kLanesOf<T> != 0)) {
    T* const panel = scratch.Get<T>(num_k * kTileColsOf<T>);
    PackCols(b, 0, static_cast<int>(n), 0, num_k, panel);
    cols = {panel, kTileColsOf<T>, kTileColsOf<T>};
  }
  const auto run = n <= kLanesOf<T> ? &RunSmall<T, 1> : &RunSmall<T, kTileVecs>;
  run(m, n, num_k, a, cols, bias, c);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
