// SPDX-License-Identifier: MIT
// Products summed over k, tile by tile: the loops under mm, linear and the convolutions.
//
// c[i, j] = chain over k of fma(a[i, k], b[k, j], acc), restarted and merged as order.h says.
// Lanes run over j, so a chain never meets another lane and the vector width cannot show.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/arena.h"
#include "drivers/transpose_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/order.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// A register tile has kTileRows rows of kTileVecs vectors: what fits the target's registers.
#if HWY_TARGET == HWY_SCALAR
inline constexpr int kTileRows = 4;
#elif HWY_TARGET <= HWY_AVX3
inline constexpr int kTileRows = 14;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kTileRows = 6;
#elif HWY_ARCH_ARM
inline constexpr int kTileRows = 12;
#else
inline constexpr int kTileRows = 4;
#endif
inline constexpr int kTileVecs = 2;
template <class T>
inline constexpr int kTileColsOf = kTileVecs * static_cast<int>(kLanesOf<T>);
inline constexpr int kTileCols = kTileColsOf<float>;
/// Bytes that hold the validity bits of one vector.
template <class T>
inline constexpr int kMaskBytesOf = (static_cast<int>(kLanesOf<T>) + 7) / 8;
inline constexpr int kMaskBytes = kMaskBytesOf<float>;

/// Columns and rows of c that share packed panels, and the k of one packed panel. They follow the sizes of the
/// caches and do not reach the bits.
struct Blocking {
  int64_t rows = 80 * kTileRows;
  int64_t cols = 2048;
  int64_t k = kMaxBlockK;

  static constexpr int64_t kMaxBlockK = 256;
  static constexpr int kMaxLevelsOfRun = NumLevels(kMaxBlockK);
};

/// Where the tile reads a run of k of its columns.
template <class T>
struct PanelOf {
  // Columns side by side: row k at b + k * stride. Or, if `offsets` is set, each vector by itself: vector v at
  // vectors[v] + offsets[k].
  const T* b = nullptr;
  int64_t stride = 0;
  int64_t prefetch = 0;  // how far ahead of its use a row is asked for
  const T* vectors[kTileVecs] = {};
  const int64_t* offsets = nullptr;
  // Null, or which terms are present: bits of vector v at present[v] + present_at[k].
  const uint8_t* present[kTileVecs] = {};
  const uint32_t* present_at = nullptr;
};

using Panel = PanelOf<float>;

/// Chunks of fewer terms than a step of a product takes.
struct ShortChunks : Chunks {
  using Chunks::Chunks;
};

/// One run of the register tile over consecutive k.
template <class T>
struct TileRunOf {
  int64_t k;
  int64_t chain = 0;  // of RunShortChains: terms after which a chain ends
  const T* a;         // packed: a[k * rows + i]
  const PanelOf<T>* panel;
  const T* resume;         // null, or where the chain stands: rows of kTileCols
  const T* const* merges;  // earlier partial sums to take in afterwards: rows of kTileCols
  int num_merges;
  const T* row_bias;  // null, or a number for each row that is added at last
  const T* col_bias;  // null, or one for each column
  T* out;             // rows of out_stride
  int64_t out_stride;
};

/// What follows the chains of a run.
template <class T, int kRows>
HWY_INLINE void FinishTile(const TileRunOf<T>& run, VecElementOf<T> (&acc)[kRows][kTileVecs]) {
  const TagOf<T> d;
  T* const out = run.out;  // for all that the compiler knows, a store changes the run
  const int64_t out_stride = run.out_stride;
  for (int m = 0; m < run.num_merges; ++m) {
    const T* HWY_RESTRICT earlier = run.merges[m];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) {
        acc[i][v] = Add(Load(d, earlier + i * kTileColsOf<T> + v * kLanesOf<T>), acc[i][v]);
      }
    }
  }
  if (run.row_bias != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const VecOf<T> bias = Set(d, run.row_bias[i]);
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Add(acc[i][v], bias);
    }
  }
  if (run.col_bias != nullptr) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVecs; ++v) {
      const VecOf<T> bias = LoadU(d, run.col_bias + v * kLanesOf<T>);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) acc[i][v] = Add(acc[i][v], bias);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVecs; ++v) StoreU(acc[i][v], d, out + i * out_stride + v * kLanesOf<T>);
  }
}

/// Asks for a row of a panel, once a line of the cache. By the last numbers: where rows begin within a line, the panel
/// before has had that one.
template <class T>
HWY_INLINE void PrefetchRow(const T* row) {
  constexpr int kStep = std::min<int>(kLineOf<T>, kTileColsOf<T>);
#pragma GCC unroll 4
  for (int j = kStep - 1; j < kTileColsOf<T>; j += kStep) __builtin_prefetch(row + j);
}

template <class T, int kRows, bool kByVector, bool kMasked>
HWY_NOINLINE void RunTile(const TileRunOf<T>& run) {
  const TagOf<T> d;
  VecElementOf<T> acc[kRows][kTileVecs];
  if (run.resume == nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Zero(d);
    }
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Load(d, run.resume + i * kTileColsOf<T> + v * kLanesOf<T>);
    }
  }
  const T* HWY_RESTRICT a = run.a;
  const T* HWY_RESTRICT b = run.panel->b;
  const int64_t stride = run.panel->stride, prefetch = run.panel->prefetch;
  const int64_t num_k = run.k;
  // What the end of the run will touch is asked for on the way there, row by row: all at once would hold up b.
  constexpr int64_t kStepsPerRow = 8;
  int64_t k = 0;
  for (int asked = 0; asked <= kRows; ++asked) {
    for (int64_t j = 0; j < kTileColsOf<T> && asked > 0; j += kLineOf<T>) {
      __builtin_prefetch(run.out + (asked - 1) * run.out_stride + j, 1);
      for (int m = 0; m < run.num_merges; ++m) __builtin_prefetch(run.merges[m] + (asked - 1) * kTileColsOf<T> + j);
    }
    for (const int64_t end = num_k - (kRows - asked) * kStepsPerRow; k < end; ++k) {
      VecElementOf<T> bv[kTileVecs];
      [[maybe_unused]] MaskElementOf<T> present[kTileVecs];
      if constexpr (!kByVector) PrefetchRow(b + prefetch);
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) {
        if constexpr (kByVector) {
          bv[v] = LoadU(d, run.panel->vectors[v] + run.panel->offsets[k]);
        } else {
          bv[v] = LoadU(d, b + v * kLanesOf<T>);
        }
        if constexpr (kMasked) {
          present[v] = hn::LoadMaskBits(d, run.panel->present[v] + run.panel->present_at[k]);
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const VecOf<T> av = Set(d, a[i]);
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v) {
          const VecOf<T> next = Fma<VecOf<T>>(av, bv[v], acc[i][v]);
          if constexpr (kMasked) {
            acc[i][v] = IfThenElse(present[v], next, acc[i][v]);
          } else {
            acc[i][v] = next;
          }
        }
      }
      a += kRows;
      if constexpr (!kByVector) b += stride;
    }
  }
  FinishTile<T, kRows>(run, acc);
}

/// What a chunk does at its end.
struct ChunkEnd {
  int taken_in[Blocking::kMaxLevelsOfRun];
  int num_taken_in = 0;
  int parked = -1;  // the last chunk's value is that of the run

  void TakeIn(int level) { taken_in[num_taken_in++] = level; }
  void Park(int level) { parked = level; }
  void End() {}
};

/// Runs chains that are shorter than a run one after the other; their values meet in the tree of the run.
template <class T, int kRows>
HWY_NOINLINE void RunShortChains(const TileRunOf<T>& run) {
  const TagOf<T> d;
  HWY_ALIGN T waiting[Blocking::kMaxLevelsOfRun][kRows][kTileColsOf<T>];
  VecElementOf<T> acc[kRows][kTileVecs];
  const Chunks chunks(run.k, run.chain);
  const T* HWY_RESTRICT a = run.a;
  const T* HWY_RESTRICT b = run.panel->b;
  for (int64_t index = 0; index < chunks.count; ++index) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Zero(d);
    }
    for (int64_t k = chunks.Begin(index); k < chunks.End(index); ++k, a += kRows, b += run.panel->stride) {
      VecElementOf<T> bv[kTileVecs];
      PrefetchRow(b + run.panel->prefetch);
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) bv[v] = LoadU(d, b + v * kLanesOf<T>);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const VecOf<T> av = Set(d, a[i]);
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Fma<VecOf<T>>(av, bv[v], acc[i][v]);
      }
    }
    ChunkEnd end;
    EndChunk(index, index + 1 == chunks.count, end);
    for (int n = 0; n < end.num_taken_in; ++n) {
      const auto& earlier = waiting[end.taken_in[n]];
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Add(Load(d, earlier[i] + v * kLanesOf<T>), acc[i][v]);
      }
    }
    if (end.parked >= 0) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v) Store(acc[i][v], d, waiting[end.parked][i] + v * kLanesOf<T>);
      }
    }
  }
  FinishTile<T, kRows>(run, acc);
}

template <class T>
using TileFn = void (*)(const TileRunOf<T>&);

template <class T, bool kByVector, bool kMasked, int... kRows>
constexpr auto TileTable(std::integer_sequence<int, kRows...>) {
  return std::array<TileFn<T>, sizeof...(kRows)>{&RunTile<T, kRows + 1, kByVector, kMasked>...};
}

template <class T, int... kRows>
constexpr auto ShortChainsTable(std::integer_sequence<int, kRows...>) {
  return std::array<TileFn<T>, sizeof...(kRows)>{&RunShortChains<T, kRows + 1>...};
}

/// The tile for `rows` rows, 1 <= rows <= kTileRows, and a kind of panel.
template <class T, bool kShortChains, bool kByVector, bool kMayMask>
TileFn<T> ChooseTile(int rows, bool masked) {
  static constexpr auto kRowCounts = std::make_integer_sequence<int, kTileRows>();
  if constexpr (kShortChains) {
    static_assert(!kByVector);
    static constexpr auto kShort = ShortChainsTable<T>(kRowCounts);
    return kShort[rows - 1];
  } else {
    static constexpr auto kPlain = TileTable<T, kByVector, false>(kRowCounts);
    if constexpr (kMayMask) {
      static constexpr auto kMasked = TileTable<T, kByVector, true>(kRowCounts);
      if (masked) return kMasked[rows - 1];
    }
    return kPlain[rows - 1];
  }
}

#if HWY_TARGET != HWY_SCALAR
/// to[k * to_stride + i] = row(i)[k] for i < kLanes, 0 from `rows` on, and k < num_k.
template <class T, class Row>
HWY_INLINE void PackTransposed(const Row& row, int rows, int64_t num_k, T* to, int64_t to_stride) {
  const TagOf<T> d;
  int64_t k = 0;
  for (; rows >= kLanesOf<T> && k + kLanesOf<T> <= num_k; k += kLanesOf<T>) {
    VecElementOf<T> t[kLanesOf<T>];
    LoadTransposed<T>([&](int64_t i) HWY_ATTR { return row(i) + k; }, t);
#pragma GCC unroll 16
    for (int64_t q = 0; q < kLanesOf<T>; ++q) StoreU(t[q], d, to + (k + q) * to_stride);
  }
  for (; k < num_k; k += kLanesOf<T>) {
    const int64_t length = std::min(kLanesOf<T>, num_k - k);
    VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanesOf<T>; ++i) t[i] = i < rows ? LoadN(row(i) + k, length) : Zero(d);
    TransposeSquare<T>(t);
#pragma GCC unroll 16
    for (int64_t q = 0; q < kLanesOf<T>; ++q) {
      if (q < length) StoreU(t[q], d, to + (k + q) * to_stride);
    }
  }
}

/// Of rows that lie `stride` apart.
template <class T>
void PackTransposed(const T* from, int64_t stride, int rows, int64_t num_k, T* to, int64_t to_stride) {
  PackTransposed([&](int64_t i) HWY_ATTR { return from + i * stride; }, rows, num_k, to, to_stride);
}
#endif

/// A matrix in memory: element (i, j) at data[i * row_stride + j * col_stride].
template <class T>
struct MatrixOf {
  const T* data;
  int64_t row_stride;
  int64_t col_stride;

  const T* At(int64_t i, int64_t j) const { return data + i * row_stride + j * col_stride; }
  MatrixOf<T> Transposed() const { return {data, col_stride, row_stride}; }

  /// Asks for share `part` of `parts` of rows [i, i + rows) x columns [j, j + cols), for soon.
  void Prefetch(int64_t i, int64_t rows, int64_t j, int64_t cols, int64_t part, int64_t parts) const {
    if (col_stride != 1) {
      if (row_stride == 1) Transposed().Prefetch(j, cols, i, rows, part, parts);
      return;
    }
    const int64_t end = rows * (part + 1) / parts;
    for (int64_t row = rows * part / parts; row < end; ++row) {
      const T* p = At(i + row, j);
      for (int64_t q = 0; q < cols; q += kLineOf<T>) __builtin_prefetch(p + q, 0, 2);
      __builtin_prefetch(p + cols - 1, 0, 2);
    }
  }
};

using Matrix = MatrixOf<float>;

/// packed[k * rows + i] = a(i, k0 + k)
template <class T>
void PackRows(const MatrixOf<T>& a, int64_t i0, int rows, int64_t k0, int64_t num_k, T* packed) {
  const T* p = a.At(i0, k0);
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  if (a.row_stride == 1) {
    const TagOf<T> d;
    for (; k < num_k; ++k, p += a.col_stride, packed += rows) {
      // Whole vectors: what the last one has too much, the next k overwrites.
      for (int i = 0; i < rows; i += kLanesOf<T>)
        StoreU(LoadN(p + i, std::min<int64_t>(kLanesOf<T>, rows - i)), d, packed + i);
    }
    return;
  }
  if (a.col_stride == 1) {
    for (int i = 0; i < rows; i += kLanesOf<T>) {
      // The last rows overlap those before, or else what a vector has too much is overwritten by the next k.
      const int64_t at = std::max<int64_t>(0, std::min<int64_t>(i, rows - kLanesOf<T>));
      PackTransposed(p + at * a.row_stride, a.row_stride, static_cast<int>(std::min<int64_t>(kLanesOf<T>, rows)), num_k,
                     packed + at, rows);
    }
    return;
  }
#endif
  for (; k < num_k; ++k) {
    for (int i = 0; i < rows; ++i) packed[k * rows + i] = p[i * a.row_stride + k * a.col_stride];
  }
}

/// panel[k * kTileCols + j] = b(k0 + k, j0 + j), zero for columns from `cols` on.
template <class T>
void PackCols(const MatrixOf<T>& b, int64_t j0, int cols, int64_t k0, int64_t num_k, T* panel) {
  const T* p = b.At(k0, j0);
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  if (b.row_stride == 1) {
    for (int v = 0; v < kTileVecs; ++v, p += kLanesOf<T> * b.col_stride) {
      PackTransposed(p, b.col_stride, cols - v * static_cast<int>(kLanesOf<T>), num_k, panel + v * kLanesOf<T>,
                     kTileColsOf<T>);
    }
    return;
  }
  if (b.col_stride == 1) {
    const TagOf<T> d;
    for (; k < num_k; ++k, p += b.row_stride, panel += kTileColsOf<T>) {
      for (int j = 0; j < kTileColsOf<T>; j += kLanesOf<T>) {
        StoreU(LoadN(p + j, std::max<int64_t>(0, cols - j)), d, panel + j);
      }
    }
    return;
  }
#endif
  for (; k < num_k; ++k) {
    for (int j = 0; j < cols; ++j) panel[k * kTileColsOf<T> + j] = p[k * b.row_stride + j * b.col_stride];
    for (int j = cols; j < kTileColsOf<T>; ++j) panel[k * kTileColsOf<T> + j] = T{0};
  }
}

/// Whether rows of b lie so far apart that more than a few of them meet in the same sets of the nearest cache, which then
/// loses what was asked for before it is read.
template <class T>
bool MeetInCache(const MatrixOf<T>& b) {
  constexpr int64_t kBytes = 2048;  // half a page, which is what a way of that cache holds
  return b.row_stride * static_cast<int64_t>(sizeof(T)) % kBytes == 0;
}

/// Whether `m` rows of a are so few that whole panels of b are read where they lie: packing would not pay.
template <class T>
bool ReadInPlace(int64_t m, const MatrixOf<T>& b) {
  return m <= 10 * kTileRows && !MeetInCache(b);
}

/// The right operand of a plain product.
template <class T>
struct MatrixCols {
  MatrixOf<T> b;
  int64_t num_cols;
  bool in_place;  // read whole panels where they lie, if b is row-major

  static constexpr bool kByVector = false, kMayMask = false;
  static constexpr bool kPacks = true;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    const TagOf<T> d;
    // Whole panels row by row, as the rows lie in memory.
    const int64_t whole = b.col_stride == 1 ? std::max<int64_t>(0, (std::min(j1, num_cols) - j0) / kTileColsOf<T>) : 0;
    for (int64_t q = 0; !in_place && q < num_k; ++q) {
      const T* from = b.At(k + q, j0);
      T* to = buffer + q * kTileColsOf<T>;
      for (int64_t p = 0; p < whole; ++p, from += kTileColsOf<T>, to += buffer_stride) {
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v) Store(LoadU(d, from + v * kLanesOf<T>), d, to + v * kLanesOf<T>);
      }
    }
    for (int64_t p = 0; j0 + p * kTileColsOf<T> < j1; ++p) {
      const int64_t j = j0 + p * kTileColsOf<T>;
      if (p < whole && in_place) {
        panels[p] = {.b = b.At(k, j), .stride = b.row_stride, .prefetch = 12 * b.row_stride};
        continue;
      }
      T* const panel = buffer + p * buffer_stride;
      if (p >= whole)
        PackCols(b, j, static_cast<int>(std::min<int64_t>(kTileColsOf<T>, num_cols - j)), k, num_k, panel);
      panels[p] = {.b = panel, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    }
  }
  void Prefetch(int64_t j0, int64_t j1, int64_t k, int64_t num_k, int64_t part, int64_t parts) const {
    b.Prefetch(k, num_k, j0, std::min(j1, num_cols) - j0, part, parts);
  }
};

template <class T>
MatrixCols(const MatrixOf<T>&, int64_t, bool) -> MatrixCols<T>;

/// Where a plain product goes, with an optional bias to add at the end.
template <class T>
struct MatrixSink {
  T* c;
  int64_t row_stride, col_stride;
  int64_t num_cols;
  const T* row_bias;  // null, or one number a row
  const T* col_bias;  // null, or one number a column

  T* InPlace(int64_t i, int64_t j) const {
    return col_stride == 1 && j + kTileColsOf<T> <= num_cols ? c + i * row_stride + j : nullptr;
  }
  int64_t InPlaceStride() const { return row_stride; }
  const T* InPlaceRowBias(int64_t i) const { return row_bias == nullptr ? nullptr : row_bias + i; }
  const T* InPlaceColBias(int64_t j) const { return col_bias == nullptr ? nullptr : col_bias + j; }
  void Store(int64_t i, int rows, int64_t j, T* tile) const {
    const int64_t cols = std::min<int64_t>(kTileColsOf<T>, num_cols - j);
    for (int r = 0; r < rows; ++r) {
      T* from = tile + r * kTileColsOf<T>;
      if (row_bias != nullptr) {
        for (int64_t q = 0; q < cols; ++q) from[q] = from[q] + row_bias[i + r];
      }
      if (col_bias != nullptr) {
        for (int64_t q = 0; q < cols; ++q) from[q] = from[q] + col_bias[j + q];
      }
      T* to = c + (i + r) * row_stride + j * col_stride;
      if (col_stride == 1) {
        std::memcpy(to, from, sizeof(T) * static_cast<size_t>(cols));
      } else {
        for (int64_t q = 0; q < cols; ++q) to[q * col_stride] = from[q];
      }
    }
  }
};

template <class T>
MatrixSink(T*, int64_t, int64_t, int64_t, const std::type_identity_t<T>*, const std::type_identity_t<T>*)
    -> MatrixSink<T>;

/// How `m` rows are cut into tiles of nearly equal height.
struct RowTiles {
  int64_t m;
  int64_t count = (m + kTileRows - 1) / kTileRows;
  int64_t least = m / std::max<int64_t>(count, 1), higher = m - least * count;  // so many are a row higher

  int64_t Begin(int64_t t) const { return least * t + std::min(t, higher); }
  int Rows(int64_t t) const { return static_cast<int>(least + (t < higher ? 1 : 0)); }
};

/// How one product is cut among threads: row parts by column parts.
struct Grid {
  int64_t rows = 1, cols = 1;
};

/// What a share of m rows and n columns costs, in multiplications: about 12 for the packing of a number of a, 8 of b.
template <class T>
int64_t CostOfShare(int64_t m, int64_t n) {
  const int64_t cols = (n + kTileColsOf<T> - 1) / kTileColsOf<T> * kTileColsOf<T>;
  return m * cols + 12 * m + 8 * cols;
}

template <class T = float>
Grid CutAmong(int64_t m, int64_t n, int64_t parts) {
  const int64_t tiles = (m + kTileRows - 1) / kTileRows, panels = (n + kTileColsOf<T> - 1) / kTileColsOf<T>;
  Grid best;
  int64_t best_cost = INT64_MAX;
  for (int64_t cols = 1; cols <= std::min(parts, panels); ++cols) {
    const int64_t rows = std::min(parts / cols, tiles);
    // Of the largest share.
    const int64_t cost = CostOfShare<T>((m + rows - 1) / rows, (panels + cols - 1) / cols * kTileColsOf<T>);
    if (cost < best_cost) best = {rows, cols}, best_cost = cost;
  }
  return best;
}

/// The left operand of a plain product, packed tile by tile when it is needed.
template <class T>
struct MatrixRows {
  MatrixOf<T> a;

  const T* Get(int64_t i, int rows, int64_t k, int64_t num_k, T* buffer) const {
    PackRows(a, i, rows, k, num_k, buffer);
    return buffer;
  }
  void Prefetch(int64_t i, int rows, int64_t k, int64_t num_k, int64_t part, int64_t parts) const {
    // Of rows that lie side by side all; of others, PackRows asks for the rest.
    a.Prefetch(i, a.row_stride == 1 ? rows : std::min(rows, 4), k, num_k, part, parts);
  }
};

template <class T>
MatrixRows(const MatrixOf<T>&) -> MatrixRows<T>;

/// Which terms of a product are added: [begin, end), for which the operands count k from 0. Those before `first`, which
/// is less than `end`, are absent.
template <class T>
struct TermsOf {
  int64_t begin, end;
  int64_t first = 0;
  // For a product in several calls, with ascending terms and within a block of rows and columns: NumWaiting numbers,
  // in which sums wait from call to call. The first one has term `first`, the last one stores the result.
  T* waiting = nullptr;
};

using Terms = TermsOf<float>;

/// For a product of m x n over num_k terms in several calls.
template <class T = float>
int64_t NumWaiting(int64_t m, int64_t n, int64_t num_k, int64_t chunk) {
  const RowTiles tiles{m};
  return (NumLevels(Chunks(num_k, chunk).count) + 1) * tiles.count * tiles.Rows(0) *
         ((n + kTileColsOf<T> - 1) / kTileColsOf<T> * kTileColsOf<T>);
}

/// Partial sums of a block of tiles, which lie side by side: a block for each level of the tree, and one for the chains
/// that are held.
template <class T>
struct WaitingTiles {
  T* data;
  int64_t num_rows, num_panels;  // of tiles
  int64_t tile_size;

  T* At(int level, int64_t row, int64_t panel) const {
    return data + ((level * num_rows + row) * num_panels + panel) * tile_size;
  }
  void FillZero(int level) const { std::fill_n(At(level, 0, 0), num_rows * num_panels * tile_size, T{0}); }
};

/// Visits the terms of a product, for one block of rows and columns after the other. Each step of the walk packs a
/// block of b, and runs each tile of the block once: what the tile begins with, takes in and becomes is known by then.
template <class T, bool kShortChains, class Left, class Right, class Sink>
class TileVisitor {
 public:
  /// `chain` has as many terms as a chain, of which the walk takes some as one, if kShortChains.
  TileVisitor(int64_t m, int64_t num_cols, int num_levels, bool one_step, int64_t chain, const Left& left,
              const Right& right, const Sink& sink, const TermsOf<T>& terms, const Blocking& blocking)
      : left_(left), right_(right), sink_(sink), terms_(terms), tiles_{m}, held_level_(num_levels), chain_(chain) {
    num_panels_ = std::min(blocking.cols / kTileColsOf<T>, (num_cols + kTileColsOf<T> - 1) / kTileColsOf<T>);
    num_tiles_ = std::min<int64_t>(tiles_.count, blocking.rows / kTileRows);
    block_k_ = std::min(terms.end - terms.begin, blocking.k);
    // A row more than a panel has, so that the rows that are packed together do not meet in the same set of a cache.
    panel_stride_ = (block_k_ + 1) * kTileColsOf<T>;
    const int64_t tile_size = tiles_.Rows(0) * kTileColsOf<T>;
    right_buffer_ = scratch_.Get<T>(Right::kPacks ? num_panels_ * panel_stride_ : 0);
    left_buffer_ = scratch_.Get<T>(block_k_ * kTileRows + kTileColsOf<T>);
    edge_ = scratch_.Get<T>(tile_size);
    waiting_ = {terms.waiting, num_tiles_, num_panels_, tile_size};
    if (waiting_.data == nullptr && !one_step) {
      waiting_.data = scratch_.Get<T>((num_levels + 1) * num_tiles_ * num_panels_ * tile_size);
    }
    panels_ = scratch_.Get<PanelOf<T>>(num_panels_);
  }

  int64_t num_tiles() const { return tiles_.count; }
  int64_t block_tiles() const { return num_tiles_; }
  int64_t block_cols() const { return num_panels_ * kTileColsOf<T>; }

  /// Begins with the block of tiles [t0, t1) and columns [j0, j1).
  void Begin(int64_t t0, int64_t t1, int64_t j0, int64_t j1) { t0_ = t0, t1_ = t1, j0_ = j0, j1_ = j1; }

  // A step is long enough for a call of Chain and one of RunTiles, which have the texts of both operands and the sink and
  // take most of the time of a file to compile: once, not at each place of the walk.

  void ParkZero(int level) { waiting_.FillZero(level); }
  HWY_NOINLINE void Chain(int64_t begin, int64_t end, bool resumes) {
    k_ = begin - terms_.begin, num_k_ = end - begin;
    next_k_ = end - terms_.begin, next_num_k_ = std::min(terms_.end - end, block_k_);
    resumes_ = resumes;
    num_taken_in_ = 0;
    right_.Get(j0_, j1_, k_, num_k_, right_buffer_, panel_stride_, panels_);
  }
  void Hold() { RunTiles(held_level_); }
  void TakeIn(int level) { taken_in_[num_taken_in_++] = level; }
  void Park(int level) { RunTiles(level); }
  void End() { RunTiles(kResult); }

 private:
  /// In the place of a level: the tiles go to the sink.
  static constexpr int kResult = -1;

  HWY_NOINLINE void RunTiles(int level) {
    for (int64_t t = t0_; t < t1_; ++t) {
      const int rows = tiles_.Rows(t);
      const T* const packed = left_.Get(tiles_.Begin(t), rows, k_, num_k_, left_buffer_);
      if (next_num_k_ > 0) right_.Prefetch(j0_, j1_, next_k_, next_num_k_, t - t0_, t1_ - t0_);
      for (int64_t j = j0_, panel = 0; j < j1_; j += kTileColsOf<T>, ++panel) {
        if (panel == 0 || num_k_ > kMaxAskedAtOnce) PrefetchLeft(t, panel);
        RunTile(t, rows, packed, j, panel, level);
      }
    }
  }

  /// Terms of a step up to which a tile is too short for each to ask for a share of what is packed next.
  static constexpr int64_t kMaxAskedAtOnce = 64;

  /// Asks for a panel's share of the rows that are packed next.
  HWY_INLINE void PrefetchLeft(int64_t t, int64_t panel) const {
    const int64_t panels = num_k_ > kMaxAskedAtOnce ? (j1_ - j0_ + kTileColsOf<T> - 1) / kTileColsOf<T> : 1;
    if (t + 1 < t1_) {
      left_.Prefetch(tiles_.Begin(t + 1), tiles_.Rows(t + 1), k_, num_k_, panel, panels);
    } else if (next_num_k_ > 0) {
      left_.Prefetch(tiles_.Begin(t0_), tiles_.Rows(t0_), next_k_, next_num_k_, panel, panels);
    }
  }

  HWY_INLINE void RunTile(int64_t t, int rows, const T* packed, int64_t j, int64_t panel, int level) const {
    const T* merges[kMaxLevels];
    for (int n = 0; n < num_taken_in_; ++n) merges[n] = waiting_.At(taken_in_[n], t - t0_, panel);
    TileRunOf<T> run{.k = num_k_,
                     .chain = chain_,
                     .a = packed,
                     .panel = &panels_[panel],
                     .resume = resumes_ ? waiting_.At(held_level_, t - t0_, panel) : nullptr,
                     .merges = merges,
                     .num_merges = num_taken_in_,
                     .row_bias = nullptr,
                     .col_bias = nullptr,
                     .out = edge_,
                     .out_stride = kTileColsOf<T>};
    const auto tile =
        ChooseTile<T, kShortChains, Right::kByVector, Right::kMayMask>(rows, run.panel->present_at != nullptr);
    if (level != kResult) {
      run.out = waiting_.At(level, t - t0_, panel);
      return tile(run);
    }
    const int64_t i = tiles_.Begin(t);
    if constexpr (requires { sink_.InPlace(i, j); }) {
      if (T* const in_place = sink_.InPlace(i, j); in_place != nullptr) {
        run.out = in_place, run.out_stride = sink_.InPlaceStride();
        run.row_bias = sink_.InPlaceRowBias(i), run.col_bias = sink_.InPlaceColBias(j);
        return tile(run);
      }
    }
    if constexpr (requires { sink_.Prefetch(i, rows, j); }) sink_.Prefetch(i, rows, j);
    tile(run);
    sink_.Store(i, rows, j, edge_);
  }

  Scratch scratch_;
  const Left& left_;
  const Right& right_;
  const Sink& sink_;
  const TermsOf<T>& terms_;
  RowTiles tiles_;
  int held_level_;
  int64_t chain_;
  // At most: tiles and panels of a block, and terms of a step.
  int64_t num_tiles_, num_panels_, block_k_;
  T *right_buffer_, *left_buffer_, *edge_;
  int64_t panel_stride_;
  WaitingTiles<T> waiting_;
  PanelOf<T>* panels_;
  // The block.
  int64_t t0_ = 0, t1_ = 0, j0_ = 0, j1_ = 0;
  // The step, as the operands count terms, and the one that follows.
  int64_t k_ = 0, num_k_ = 0, next_k_ = 0, next_num_k_ = 0;
  bool resumes_ = false;
  int taken_in_[kMaxLevels];
  int num_taken_in_ = 0;
};

/// Rows [0, m) x columns [j_begin, j_end) of the product, or what `terms` add to it.
///
/// `left` gives packed rows, `right` panels of kTileCols columns, and `sink` says where results go:
///   left.Get(i, rows, k, num_k, buffer) -> packed rows
///   right.Get(j0, j1, k, num_k, buffer, buffer_stride, panels) fills in the panels of columns [j0, j1); right.kByVector,
///   kMayMask and kPacks say what panels are like
///   left.Prefetch and right.Prefetch ask for a share of what the next calls of Get will read
///   sink.Store(i, rows, j, tile), for which Prefetch(i, rows, j) asks, if there is one; but InPlace(i, j), if there is
///   one, says where the tile may store by itself, with InPlaceStride(), InPlaceRowBias(i) and InPlaceColBias(j), or null
template <class T = float, class AnyChunks = Chunks, class Left, class Right, class Sink>
void TileProduct(int64_t m, int64_t j_begin, int64_t j_end, const AnyChunks& chunks, const Left& left,
                 const Right& right, const Sink& sink, const TermsOf<T>& terms,
                 const Blocking& blocking = {.cols = 8192 / sizeof(T)}) {
  const auto walk = [&](const auto& of_steps, int64_t chain) HWY_ATTR {
    const bool one_step = of_steps.count == 1 && of_steps.num_terms <= std::min(terms.end - terms.begin, blocking.k);
    TileVisitor<T, std::is_same_v<AnyChunks, ShortChunks>, Left, Right, Sink> visitor(
        m, j_end - j_begin, NumLevels(of_steps.count), one_step, chain, left, right, sink, terms, blocking);
    for (int64_t j0 = j_begin; j0 < j_end; j0 += visitor.block_cols()) {
      const int64_t j1 = std::min(j0 + visitor.block_cols(), j_end);
      for (int64_t t0 = 0; t0 < visitor.num_tiles(); t0 += visitor.block_tiles()) {
        visitor.Begin(t0, std::min(t0 + visitor.block_tiles(), visitor.num_tiles()), j0, j1);
        WalkSteps(of_steps, {terms.begin, terms.end, terms.first}, blocking.k, visitor);
      }
    }
  };
  if constexpr (std::is_same_v<AnyChunks, ShortChunks>) {
    // As many chains as a step takes, a power of two, have the value of a node of the tree.
    int64_t length = chunks.length;
    while (2 * length <= blocking.k) length *= 2;
    walk(Chunks(chunks.num_terms, length), chunks.length);
  } else {
    walk(chunks, 0);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
