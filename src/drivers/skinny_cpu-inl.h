// SPDX-License-Identifier: MIT
// Products with few rows. Each number of b is used a few times only, so b is read in place, in the order that memory
// likes, instead of being packed.
#pragma once

#include "drivers/tile_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Rows of b that a sweep reads side by side: more streams than this are too many for the memory's prefetchers.
inline constexpr int64_t kSweepRows = 8;

/// A few rows of b from end to end: for every panel of kTileCols columns, a chain of `k` steps.
template <class T>
struct SweepOf {
  int64_t k;
  int64_t num_panels;
  const T* a;  // packed: a[k * rows + i]
  const T* b;
  int64_t b_stride;
  const T* resume;         // null, or where the chains stand: a tile a panel
  const T* const* merges;  // earlier partial sums to take in afterwards, likewise
  int num_merges;
  T* out;
  int64_t out_stride;        // between rows of a panel
  int64_t out_panel_stride;  // between panels
};

template <class T, int kRows>
HWY_NOINLINE void RunSweep(const SweepOf<T>& sweep) {
  const TagOf<T> d;
  constexpr int64_t kTile = kRows * kTileColsOf<T>;
  for (int64_t panel = 0; panel < sweep.num_panels; ++panel) {
    VecElementOf<T> acc[kRows][kTileVecs];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) {
        acc[i][v] = sweep.resume == nullptr
                        ? Zero(d)
                        : Load(d, sweep.resume + panel * kTile + i * kTileColsOf<T> + v * kLanesOf<T>);
      }
    }
    const T* HWY_RESTRICT a = sweep.a;
    const T* HWY_RESTRICT b = sweep.b + panel * kTileColsOf<T>;
    for (int64_t k = 0; k < sweep.k; ++k, a += kRows, b += sweep.b_stride) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) {
        const VecOf<T> bv = LoadU(d, b + v * kLanesOf<T>);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) acc[i][v] = Fma<VecOf<T>>(Set(d, a[i]), bv, acc[i][v]);
      }
    }
    for (int m = 0; m < sweep.num_merges; ++m) {
      const T* HWY_RESTRICT earlier = sweep.merges[m] + panel * kTile;
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v)
          acc[i][v] = Add(Load(d, earlier + i * kTileColsOf<T> + v * kLanesOf<T>), acc[i][v]);
      }
    }
    T* out = sweep.out + panel * sweep.out_panel_stride;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) StoreU(acc[i][v], d, out + i * sweep.out_stride + v * kLanesOf<T>);
    }
  }
}

template <class T>
using SweepFn = void (*)(const SweepOf<T>&);

template <class T, int... kRows>
constexpr auto SweepTable(std::integer_sequence<int, kRows...>) {
  return std::array<SweepFn<T>, sizeof...(kRows)>{&RunSweep<T, kRows + 1>...};
}

/// c = a b for m <= kTileRows rows, `num_panels` whole panels and num_k > 0, b row-major.
template <class T>
void SweepProduct(int64_t m, int64_t num_panels, int64_t num_k, int64_t chunk, const MatrixOf<T>& a,
                  const MatrixOf<T>& b, T* c, int64_t c_stride) {
  static constexpr auto kSweeps = SweepTable<T>(std::make_integer_sequence<int, kTileRows>());
  const int64_t num_chunks = (num_k + chunk - 1) / chunk;
  const int num_levels = NumLevels(num_chunks);
  const int64_t size = m * kTileColsOf<T> * num_panels;
  Scratch scratch;
  T* const rows = scratch.Get<T>(kSweepRows * m + kLanesOf<T>);
  T* const running = scratch.Get<T>(size);
  T* const waiting = num_chunks > 1 ? scratch.Get<T>(num_levels * size) : nullptr;
  const T* merges[64];
  for (int64_t k = 0, end; k < num_k; k = end) {
    const int64_t index = k / chunk, chunk_end = std::min(num_k, (index + 1) * chunk);
    end = std::min(chunk_end, k + kSweepRows);
    PackRows(a, 0, static_cast<int>(m), k, end - k, rows);
    SweepOf<T> sweep{
        end - k, num_panels, rows,    b.At(k, 0),     b.row_stride,      k == index * chunk ? nullptr : running,
        merges,  0,          running, kTileColsOf<T>, m * kTileColsOf<T>};
    if (end == chunk_end) {
      const bool last = end == num_k;
      TakeIn(index, last, [&](int level) { merges[sweep.num_merges++] = waiting + level * size; });
      if (last) {
        sweep.out = c, sweep.out_stride = c_stride, sweep.out_panel_stride = kTileColsOf<T>;
      } else {
        sweep.out = waiting + Park(index) * size;
      }
    }
    kSweeps[m - 1](sweep);
  }
}

#if HWY_TARGET != HWY_SCALAR

/// Rows for which the transpose in registers pays, and leaves them room.
inline constexpr int kMaxTransposedRows = 8;

/// acc[i] = chain of a[q * kRows + i] * t[q] on top of acc[i], for the kLanes vectors of a square.
template <class T, int kRows>
HWY_INLINE void AddSquare(const T* HWY_RESTRICT a, const VecElementOf<T>* t, VecElementOf<T>* acc) {
  const TagOf<T> d;
#pragma GCC unroll 16
  for (int64_t q = 0; q < kLanesOf<T>; ++q) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc[i] = Fma<VecOf<T>>(Set(d, a[q * kRows + i]), t[q], acc[i]);
  }
}

template <class T, int kRows>
HWY_NOINLINE void TransposedProductOf(int64_t num_vectors, int64_t num_k, int64_t chunk, const MatrixOf<T>& a,
                                      const MatrixOf<T>& b, T* c, int64_t c_stride) {
  const TagOf<T> d;
  const int64_t num_chunks = (num_k + chunk - 1) / chunk;
  Scratch scratch;
  T* const waiting = scratch.Get<T>(NumLevels(num_chunks) * kRows * kLanesOf<T>);
  T* const rows = scratch.Get<T>(num_k * kRows + kLanesOf<T>);
  PackRows(a, 0, kRows, 0, num_k, rows);
  for (int64_t vector = 0; vector < num_vectors; ++vector) {
    const T* const columns = b.At(0, vector * kLanesOf<T>);
    VecElementOf<T> acc[kRows];
    const auto restart = [&]() HWY_ATTR {
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) acc[i] = Zero(d);
    };
    int64_t index = 0, chunk_end = std::min(chunk, num_k);
    const auto finish_chunk = [&]() HWY_ATTR {
      const bool last = index + 1 == num_chunks;
      TakeIn(index, last, [&](int level) HWY_ATTR {
        for (int i = 0; i < kRows; ++i) acc[i] = Add(Load(d, waiting + (level * kRows + i) * kLanesOf<T>), acc[i]);
      });
      for (int i = 0; i < kRows; ++i) {
        if (last) {
          StoreU(acc[i], d, c + i * c_stride + vector * kLanesOf<T>);
        } else {
          Store(acc[i], d, waiting + (Park(index) * kRows + i) * kLanesOf<T>);
        }
      }
      restart();
      chunk_end = std::min(chunk_end + chunk, num_k);
      ++index;
    };
    restart();
    // The first square may be short, so that the others load whole cache lines: columns a power of two apart fight for
    // the same place in the cache, and a line does not stay there for a second load.
    int64_t length = kLanesOf<T> - static_cast<int64_t>(reinterpret_cast<uintptr_t>(columns) / sizeof(T) % kLanesOf<T>);
    for (int64_t k = 0; k < num_k; k += length, length = kLanesOf<T>) {
      VecElementOf<T> t[kLanesOf<T>];
      if (HWY_LIKELY(k + length <= chunk_end && length == kLanesOf<T>)) {
#pragma GCC unroll 16
        for (int64_t j = 0; j < kLanesOf<T>; ++j) t[j] = LoadU(d, columns + k + j * b.col_stride);
        for (int64_t j = 0; j < kLanesOf<T>; ++j) __builtin_prefetch(columns + k + 2 * kLanesOf<T> + j * b.col_stride);
        TransposeSquare<T>(t);
        AddSquare<T, kRows>(rows + k * kRows, t, acc);
        if (k + length == chunk_end) finish_chunk();
        continue;
      }
      // The first square, the last one, or one inside which a chunk ends.
      length = std::min(length, num_k - k);
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanesOf<T>; ++j) t[j] = LoadN(columns + k + j * b.col_stride, length);
      TransposeSquare<T>(t);
      HWY_ALIGN T square[kLanesOf<T> * kLanesOf<T>];
#pragma GCC unroll 16
      for (int64_t q = 0; q < kLanesOf<T>; ++q) Store(t[q], d, square + q * kLanesOf<T>);
      for (int64_t q = 0; q < length; ++q) {
        const VecOf<T> bv = Load(d, square + q * kLanesOf<T>);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) acc[i] = Fma<VecOf<T>>(Set(d, rows[(k + q) * kRows + i]), bv, acc[i]);
        if (k + q + 1 == chunk_end) finish_chunk();
      }
    }
  }
}

template <class T>
using TransposedFn = void (*)(int64_t, int64_t, int64_t, const MatrixOf<T>&, const MatrixOf<T>&, T*, int64_t);

template <class T, int... kRows>
constexpr auto TransposedTable(std::integer_sequence<int, kRows...>) {
  return std::array<TransposedFn<T>, sizeof...(kRows)>{&TransposedProductOf<T, kRows + 1>...};
}

/// c = a b for m <= kMaxTransposedRows rows and `num_vectors` whole vectors of columns, b column-major.
template <class T>
void TransposedProduct(int64_t m, int64_t num_vectors, int64_t num_k, int64_t chunk, const MatrixOf<T>& a,
                       const MatrixOf<T>& b, T* c, int64_t c_stride) {
  static constexpr auto kProducts = TransposedTable<T>(std::make_integer_sequence<int, kMaxTransposedRows>());
  kProducts[m - 1](num_vectors, num_k, chunk, a, b, c, c_stride);
}

#endif  // HWY_TARGET != HWY_SCALAR

/// c = a b for few rows, as far as whole vectors go; returns the number of columns done, perhaps none.
/// c is row-major, without a bias.
template <class T>
int64_t SkinnyProduct(int64_t m, int64_t n, int64_t num_k, int64_t chunk, const MatrixOf<T>& a, const MatrixOf<T>& b,
                      T* c, int64_t c_stride) {
  if (m == 0 || num_k == 0) return 0;
  if (b.col_stride == 1 && m <= kTileRows) {
    const int64_t panels = n / kTileColsOf<T>;
    if (panels > 0) SweepProduct(m, panels, num_k, chunk, a, b, c, c_stride);
    return panels * kTileColsOf<T>;
  }
#if HWY_TARGET != HWY_SCALAR
  if (b.row_stride == 1 && m <= kMaxTransposedRows) {
    const int64_t vectors = n / kLanesOf<T>;
    if (vectors > 0) TransposedProduct(m, vectors, num_k, chunk, a, b, c, c_stride);
    return vectors * kLanesOf<T>;
  }
#endif
  return 0;
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
