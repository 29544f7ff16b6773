// SPDX-License-Identifier: MIT
// Products with few rows, or of few terms. Each number of b is used a few times only, so b is read in place, in the order
// that memory likes, instead of being packed.
#pragma once

#include <limits>

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
      VecElementOf<T> bv[kTileVecs];
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) bv[v] = LoadU(d, b + v * kLanesOf<T>);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const VecOf<T> av = Set(d, a[i]);
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Fma<VecOf<T>>(av, bv[v], acc[i][v]);
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

/// Visits the terms of a product whose panels all go on together, a few rows of b at a time. What a tile of rows of a has
/// of its own lies behind that of the tiles before it.
template <class T>
class SweepVisitor {
 public:
  SweepVisitor(int64_t m, int64_t num_panels, const Chunks& chunks, const MatrixOf<T>& a, const MatrixOf<T>& b, T* c,
               int64_t c_stride)
      : tiles_{m},
        num_panels_(num_panels),
        row_size_(kTileColsOf<T> * num_panels),
        a_(a),
        b_(b),
        c_(c),
        c_stride_(c_stride),
        rows_(scratch_.Get<T>(kSweepRows * m + kLanesOf<T>)),
        held_(scratch_.Get<T>(chunks.num_terms > kSweepRows ? m * row_size_ : 0)),
        waiting_(chunks.count > 1 ? scratch_.Get<T>(NumLevels(chunks.count) * m * row_size_) : nullptr) {}

  void Chain(int64_t begin, int64_t end, bool resumes) {
    for (int64_t t = 0; t < tiles_.count; ++t) {
      PackRows(a_, tiles_.Begin(t), tiles_.Rows(t), begin, end - begin, rows_ + kSweepRows * tiles_.Begin(t));
    }
    begin_ = begin, num_k_ = end - begin, resumes_ = resumes;
    num_merges_ = 0;
  }
  void Hold() { RunInto(held_); }
  void TakeIn(int level) { merges_[num_merges_++] = Waiting(level); }
  void Park(int level) { RunInto(Waiting(level)); }
  void End() {
    for (int64_t t = 0; t < tiles_.count; ++t) {
      Run(t, c_ + tiles_.Begin(t) * c_stride_, c_stride_, kTileColsOf<T>);
    }
  }

 private:
  T* Waiting(int level) const { return waiting_ + level * tiles_.m * row_size_; }
  void RunInto(T* out) const {
    for (int64_t t = 0; t < tiles_.count; ++t) {
      Run(t, out + tiles_.Begin(t) * row_size_, kTileColsOf<T>, tiles_.Rows(t) * kTileColsOf<T>);
    }
  }
  void Run(int64_t t, T* out, int64_t out_stride, int64_t out_panel_stride) const {
    static constexpr auto kSweeps = SweepTable<T>(std::make_integer_sequence<int, kTileRows>());
    const int64_t row = tiles_.Begin(t);
    const T* merges[kMaxLevels];
    for (int m = 0; m < num_merges_; ++m) merges[m] = merges_[m] + row * row_size_;
    kSweeps[tiles_.Rows(t) - 1]({.k = num_k_,
                                 .num_panels = num_panels_,
                                 .a = rows_ + kSweepRows * row,
                                 .b = b_.At(begin_, 0),
                                 .b_stride = b_.row_stride,
                                 .resume = resumes_ ? held_ + row * row_size_ : nullptr,
                                 .merges = merges,
                                 .num_merges = num_merges_,
                                 .out = out,
                                 .out_stride = out_stride,
                                 .out_panel_stride = out_panel_stride});
  }

  Scratch scratch_;
  RowTiles tiles_;
  int64_t num_panels_, row_size_;
  MatrixOf<T> a_, b_;
  T* c_;
  int64_t c_stride_;
  T *rows_, *held_, *waiting_;
  // The step.
  int64_t begin_ = 0, num_k_ = 0;
  bool resumes_ = false;
  const T* merges_[kMaxLevels];
  int num_merges_ = 0;
};

/// c = a b for `num_panels` whole panels and some terms, b row-major.
template <class T>
void SweepProduct(int64_t m, int64_t num_panels, const Chunks& chunks, const MatrixOf<T>& a, const MatrixOf<T>& b, T* c,
                  int64_t c_stride) {
  SweepVisitor<T> visitor(m, num_panels, chunks, a, b, c, c_stride);
  WalkSteps(chunks, kSweepRows, visitor);
}

/// The bytes up to which b is taken to lie in a cache.
inline constexpr int64_t kMaxCachedBytes = int64_t{8} << 20;

template <class T>
bool IsCached(int64_t n, int64_t num_k) {
  return n * num_k <= kMaxCachedBytes / static_cast<int64_t>(sizeof(T));
}

#if HWY_TARGET != HWY_SCALAR

/// Rows for which the transpose in registers pays, and leaves them room.
inline constexpr int kMaxTransposedRows = 8;

/// Streams that can be read from a cache side by side. From memory more than those of one chunk are too many for the
/// prefetchers.
inline constexpr int kMaxStreams = 32;

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

/// Visits the terms of a vector of columns, a square of terms and columns at a time.
template <class T, int kRows>
class TransposedVisitor {
 public:
  /// `rows` is a, packed; `waiting` has a row of vectors for each level.
  TransposedVisitor(const Chunks& chunks, bool cached, const T* rows, int64_t b_stride, T* waiting)
      : chunks_(chunks),
        together_(cached && chunks.length == kProductChunk),
        rows_(rows),
        b_stride_(b_stride),
        waiting_(waiting) {}

  /// Begins with another vector of columns.
  void Begin(const T* columns, T* out, int64_t out_stride) {
    columns_ = columns, out_ = out, out_stride_ = out_stride;
    offset_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(columns) / sizeof(T) % kLanesOf<T>);
    square_begin_ = square_end_ = 0;
    together_end_ = 0;
  }

  void Chain(int64_t begin, int64_t end) {
    if constexpr (kTogether > 1) {
      if (together_ && offset_ == 0 && begin >= together_end_) RunTogether<kTogether>(begin);
      if (begin < together_end_) {
        const int64_t which = (begin - together_begin_) / kProductChunk;
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) acc_[i] = values_[which][i];
      } else {
        RunRest(begin, end);
      }
    } else {
      RunAlone(begin, end);
    }
  }
  void TakeIn(int level) {
    const TagOf<T> d;
    for (int i = 0; i < kRows; ++i) acc_[i] = Add(Load(d, Waiting(level, i)), acc_[i]);
  }
  void Park(int level) {
    for (int i = 0; i < kRows; ++i) Store(acc_[i], TagOf<T>(), Waiting(level, i));
  }
  void End() {
    for (int i = 0; i < kRows; ++i) StoreU(acc_[i], TagOf<T>(), out_ + i * out_stride_);
  }

 private:
  /// Whole chunks, of whole vectors each, whose chains go on together: with few rows, that many hide how long an fma takes. Each reads as many
  /// streams as a vector has lanes. Vectors of 512 bits take longer to be transposed than an fma takes.
  static constexpr int kTogether =
      HWY_MAX_BYTES == 64 ? 1 : std::clamp<int>(std::min<int>(4 / kRows, kMaxStreams / kLanesOf<T>), 1, 4);

  T* Waiting(int level, int i) const { return waiting_ + (level * kRows + i) * kLanesOf<T>; }

  /// Runs the chains of kCount whole chunks from term `begin` on, or of fewer if there are not as many.
  template <int kCount>
  void RunTogether(int64_t begin) {
    if constexpr (kCount > 1) {
      if (begin + kCount * kProductChunk > chunks_.num_terms) return RunTogether<kCount - 1>(begin);
      const TagOf<T> d;
      VecElementOf<T> acc[kCount][kRows];
#pragma GCC unroll 4
      for (int which = 0; which < kCount; ++which) {
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) acc[which][i] = Zero(d);
      }
      for (int64_t k = begin; k < begin + kProductChunk; k += kLanesOf<T>) {
#pragma GCC unroll 4
        for (int which = 0; which < kCount; ++which) AddWholeSquare(k + which * kProductChunk, acc[which]);
      }
#pragma GCC unroll 4
      for (int which = 0; which < kCount; ++which) {
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) values_[which][i] = acc[which][i];
      }
      together_begin_ = begin, together_end_ = begin + kCount * kProductChunk;
    }
  }

  /// Not inlined, so that it leaves the registers to the chains that go on together.
  HWY_NOINLINE void RunRest(int64_t begin, int64_t end) { RunAlone(begin, end); }

  HWY_INLINE void RunAlone(int64_t begin, int64_t end) {
    const TagOf<T> d;
    VecElementOf<T> acc[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc[i] = Zero(d);
    for (int64_t k = begin; k < end;) {
      if (k >= square_end_) {
        // Squares begin where cache lines do: columns a power of two apart fight for the same place in the cache, and a
        // line does not stay there for a second load.
        const int64_t length = kLanesOf<T> - (offset_ + k) % kLanesOf<T>;
        if (HWY_LIKELY(length == kLanesOf<T> && k + length <= end)) {
          AddWholeSquare(k, acc);
          k += length;
          continue;
        }
        LoadSquare(k, std::min(length, chunks_.num_terms - k));
      }
      for (const int64_t stop = std::min(end, square_end_); k < stop; ++k) {
        const VecOf<T> bv = Load(d, square_ + (k - square_begin_) * kLanesOf<T>);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) acc[i] = Fma<VecOf<T>>(Set(d, rows_[k * kRows + i]), bv, acc[i]);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc_[i] = acc[i];
  }

  HWY_INLINE void AddWholeSquare(int64_t k, VecElementOf<T>* acc) const {
    VecElementOf<T> t[kLanesOf<T>];
    LoadTransposed<T>([&](int64_t j) HWY_ATTR { return columns_ + k + j * b_stride_; }, t);
    for (int64_t j = 0; j < kLanesOf<T>; ++j) __builtin_prefetch(columns_ + k + 2 * kLanesOf<T> + j * b_stride_);
    AddSquare<T, kRows>(rows_ + k * kRows, t, acc);
  }
  /// For the first square, the last one, or one inside which a chunk ends.
  HWY_INLINE void LoadSquare(int64_t k, int64_t length) {
    VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
    for (int64_t j = 0; j < kLanesOf<T>; ++j) t[j] = LoadN(columns_ + k + j * b_stride_, length);
    TransposeSquare<T>(t);
#pragma GCC unroll 16
    for (int64_t q = 0; q < kLanesOf<T>; ++q) Store(t[q], TagOf<T>(), square_ + q * kLanesOf<T>);
    square_begin_ = k, square_end_ = k + length;
  }

  Chunks chunks_;
  bool together_;  // b lies in a cache, in chunks of the usual length
  const T* rows_;
  int64_t b_stride_;
  T* waiting_;
  const T* columns_;
  T* out_;
  int64_t out_stride_;
  int64_t offset_;  // of the columns from the beginning of a vector in memory
  VecElementOf<T> acc_[kRows];
  // The chains of terms [together_begin_, together_end_), a chunk each.
  int64_t together_begin_ = 0, together_end_ = 0;
  VecElementOf<T> values_[kTogether][kRows];
  // Terms [square_begin_, square_end_), a vector each.
  int64_t square_begin_, square_end_;
  HWY_ALIGN T square_[kLanesOf<T> * kLanesOf<T>];
};

template <class T, int kRows>
HWY_NOINLINE void TransposedProductOf(int64_t num_vectors, const Chunks& chunks, const MatrixOf<T>& a,
                                      const MatrixOf<T>& b, T* c, int64_t c_stride) {
  const int64_t num_k = chunks.num_terms;
  Scratch scratch;
  T* const waiting = scratch.Get<T>(NumLevels(chunks.count) * kRows * kLanesOf<T>);
  T* const rows = scratch.Get<T>(num_k * kRows + kLanesOf<T>);
  PackRows(a, 0, kRows, 0, num_k, rows);
  TransposedVisitor<T, kRows> visitor(chunks, IsCached<T>(num_vectors * kLanesOf<T>, num_k), rows, b.col_stride,
                                      waiting);
  for (int64_t vector = 0; vector < num_vectors; ++vector) {
    const int64_t j = vector * kLanesOf<T>;
    visitor.Begin(b.At(0, j), c + j, c_stride);
    WalkChunks(chunks, visitor);
  }
}

template <class T>
using TransposedFn = void (*)(int64_t, const Chunks&, const MatrixOf<T>&, const MatrixOf<T>&, T*, int64_t);

template <class T, int... kRows>
constexpr auto TransposedTable(std::integer_sequence<int, kRows...>) {
  return std::array<TransposedFn<T>, sizeof...(kRows)>{&TransposedProductOf<T, kRows + 1>...};
}

/// c = a b for m <= kMaxTransposedRows rows and `num_vectors` whole vectors of columns, b column-major.
template <class T>
void TransposedProduct(int64_t m, int64_t num_vectors, const Chunks& chunks, const MatrixOf<T>& a, const MatrixOf<T>& b,
                       T* c, int64_t c_stride) {
  static constexpr auto kProducts = TransposedTable<T>(std::make_integer_sequence<int, kMaxTransposedRows>());
  kProducts[m - 1](num_vectors, chunks, a, b, c, c_stride);
}

#endif  // HWY_TARGET != HWY_SCALAR

/// Terms up to which any product is done in sweeps: to begin a tile takes longer than its chains.
inline constexpr int64_t kMaxSweptTerms = 4;

/// Rows of a up to which SkinnyProduct multiplies. Sweeps are faster than tiles that run down b, or that pack it, where b
/// comes from memory, which they read from end to end, and where its rows meet in the cache.
template <class T>
int64_t MaxSkinnyRows(int64_t n, int64_t num_k, const MatrixOf<T>& b) {
  if (b.col_stride == 1) {
    if (num_k <= kMaxSweptTerms) return std::numeric_limits<int64_t>::max();
    return std::max<int64_t>(kTileRows, !IsCached<T>(n, num_k) ? 16 : MeetInCache(b) ? 12 : 0);
  }
#if HWY_TARGET != HWY_SCALAR
  if (b.row_stride == 1) return kMaxTransposedRows;
#endif
  return 0;
}

/// c = a b for few rows or few terms, as far as whole vectors go; returns the number of columns done, perhaps none.
/// c is row-major, without a bias.
template <class T>
int64_t SkinnyProduct(int64_t m, int64_t n, int64_t num_k, int64_t chunk, const MatrixOf<T>& a, const MatrixOf<T>& b,
                      T* c, int64_t c_stride) {
  if (m == 0 || num_k == 0 || m > MaxSkinnyRows(n, num_k, b)) return 0;
  if (b.col_stride == 1) {
    const int64_t panels = n / kTileColsOf<T>;
    if (panels > 0) SweepProduct(m, panels, {num_k, chunk}, a, b, c, c_stride);
    return panels * kTileColsOf<T>;
  }
#if HWY_TARGET != HWY_SCALAR
  const int64_t vectors = n / kLanesOf<T>;
  if (vectors > 0) TransposedProduct(m, vectors, {num_k, chunk}, a, b, c, c_stride);
  return vectors * kLanesOf<T>;
#else
  return 0;
#endif
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
