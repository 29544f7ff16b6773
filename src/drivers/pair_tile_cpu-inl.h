// SPDX-License-Identifier: MIT
// Operands of a product of complex matrices as those of TileProduct: a row is two of real numbers, one for each part, and a
// panel has the real parts of some columns and then their imaginary parts. So a register tile has the four products of
// parts that make up each number of the result.
#pragma once

#include "drivers/tile_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// A matrix of pairs in memory: those of element (i, j) at data[i * row_stride + j * col_stride], side by side.
template <class T>
struct PairMatrix {
  const T* data;
  int64_t row_stride;
  int64_t col_stride;
  bool conjugate;

  const T* At(int64_t i, int64_t j) const { return data + i * row_stride + j * col_stride; }
  PairMatrix<T> Transposed() const { return {data, col_stride, row_stride, conjugate}; }
};

/// Columns of a panel.
template <class T>
inline constexpr int kPairCols = static_cast<int>(kLanesOf<T>);
static_assert(kTileVecs == 2 && kTileRows % 2 == 0);

/// to[k * to_stride + 2 i] and the number after it are the parts of x(i, k0 + k), for i < count. What follows them, less
/// than a vector, may be overwritten before the next k is.
template <class T>
void PackPairs(const PairMatrix<T>& x, int64_t i0, int64_t count, int64_t k0, int64_t num_k, T* to, int64_t to_stride) {
  const T* const first = x.At(i0, k0);
#if HWY_TARGET != HWY_SCALAR
  const TagOf<T> d;
  if (x.row_stride == 2) {
    for (int64_t k = 0; k < num_k; ++k) {
      const T* const from = first + k * x.col_stride;
      for (int64_t i = 0; i < 2 * count; i += kLanesOf<T>) {
        StoreU(LoadN(from + i, 2 * count - i), d, to + k * to_stride + i);
      }
    }
    return;
  }
  if constexpr (sizeof(T) == 4) {
    if (x.col_stride == 2) {  // a pair is moved as one number of twice the size
      const hn::Repartition<double, TagOf<T>> wide;
      constexpr int64_t kPairs = kLanesOf<double>;
      for (int64_t i = 0; i < count; i += kPairs) {
        // The last rows overlap those before, or else what a vector has too much is overwritten by the next k.
        const int64_t at = std::max<int64_t>(0, std::min(i, count - kPairs));
        for (int64_t k = 0; k < num_k; k += kPairs) {
          const int64_t length = std::min(kPairs, num_k - k);
          VecElementOf<double> t[kPairs];
#pragma GCC unroll 8
          for (int64_t q = 0; q < kPairs; ++q) {
            const bool is_there = at + q < count;
            const T* const from = first + (at + (is_there ? q : 0)) * x.row_stride + 2 * k;
            t[q] = BitCast(wide, is_there ? LoadN(from, 2 * length) : Zero(d));
          }
          TransposeSquare<double>(t);
          for (int64_t q = 0; q < length; ++q) {
            StoreU(BitCast(d, VecOf<double>(t[q])), d, to + (k + q) * to_stride + 2 * at);
          }
        }
      }
      return;
    }
  }
#endif
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < num_k; ++k) {
      std::memcpy(to + k * to_stride + 2 * i, first + i * x.row_stride + k * x.col_stride, 2 * sizeof(T));
    }
  }
}

/// Rows for TileProduct of `num_rows` rows of pairs: as many as make tiles of one even height.
inline int64_t RowsOfTiles(int64_t num_rows) {
  const int64_t tiles = (2 * num_rows + kTileRows - 1) / kTileRows;
  return 2 * ((num_rows + tiles - 1) / tiles) * tiles;
}

/// The left operand, packed tile by tile when it is needed; rows from 2 num_rows on are 0.
template <class T>
struct PairRows {
  PairMatrix<T> a;
  int64_t num_rows;

  const T* Get(int64_t i, int rows, int64_t k, int64_t num_k, T* buffer) const {
    const int64_t count = std::min<int64_t>(rows / 2, num_rows - i / 2);
    if (count < rows / 2) std::fill_n(buffer, rows * num_k, T{0});
    if (count > 0) PackPairs(a, i / 2, count, k, num_k, buffer, rows);
    for (int64_t q = 1; a.conjugate && q < rows * num_k; q += 2) buffer[q] = -buffer[q];
    return buffer;
  }
  void Prefetch(int64_t, int, int64_t, int64_t, int64_t, int64_t) const {}
};

/// The right operand.
template <class T>
struct PairPanels {
  PairMatrix<T> b;
  int64_t num_cols;

  static constexpr bool kByVector = false, kMayMask = false;
  static constexpr bool kPacks = true;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    for (int64_t p = 0; j0 + p * kTileColsOf<T> < j1; ++p) {
      T* const panel = buffer + p * buffer_stride;
      const int64_t j = j0 / 2 + p * kPairCols<T>, cols = std::min<int64_t>(kPairCols<T>, num_cols - j);
      if (b.col_stride == 2 && cols == kPairCols<T>) {
        Split(b.At(k, j), b.row_stride, num_k, panel);
      } else {
        if (cols < kPairCols<T>) std::fill_n(panel, num_k * kTileColsOf<T>, T{0});
        PackPairs(b.Transposed(), j, cols, k, num_k, panel, kTileColsOf<T>);
        Split(panel, kTileColsOf<T>, num_k, panel);
      }
      panels[p] = {.b = panel, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}

 private:
  /// Real parts, then imaginary ones, of num_k rows of pairs; `to` may be `from`.
  HWY_INLINE void Split(const T* from, int64_t stride, int64_t num_k, T* to) const {
    const TagOf<T> d;
    for (int64_t k = 0; k < num_k; ++k, from += stride, to += kTileColsOf<T>) {
      VecOf<T> real, imaginary;
      hn::LoadInterleaved2(d, from, real, imaginary);
      Store(real, d, to);
      Store(b.conjugate ? Neg(imaginary) : imaginary, d, to + kPairCols<T>);
    }
  }
};

/// Where the result goes: the pairs of element (i, j) lie at c[i * row_stride + j * col_stride], side by side.
template <class T>
struct PairSink {
  T* c;
  int64_t row_stride, col_stride;
  int64_t num_rows, num_cols;

  /// Of rows a + bi and columns c + di, a tile has ac and ad in a row, bc and bd in the next.
  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    const TagOf<T> d;
    const int64_t column = j / 2, cols = std::min<int64_t>(kPairCols<T>, num_cols - column);
    for (int r = 0; r < rows && (i + r) / 2 < num_rows; r += 2, tile += 2 * kTileColsOf<T>) {
      const T* const below = tile + kTileColsOf<T>;
      const auto real = Sub(Load(d, tile), Load(d, below + kPairCols<T>));
      const auto imaginary = Add(Load(d, tile + kPairCols<T>), Load(d, below));
      T* const to = c + (i + r) / 2 * row_stride + column * col_stride;
      if (cols == kPairCols<T> && col_stride == 2) {
        hn::StoreInterleaved2(real, imaginary, d, to);
        continue;
      }
      HWY_ALIGN T pairs[kTileColsOf<T>];
      hn::StoreInterleaved2(real, imaginary, d, pairs);
      for (int64_t q = 0; q < cols; ++q) std::memcpy(to + q * col_stride, pairs + 2 * q, 2 * sizeof(T));
    }
  }
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
