// SPDX-License-Identifier: MIT
// Products with few rows, or of few terms. Each number of b is used a few times only, so b is read in place, in the order
// that memory likes, instead of being packed.
#pragma once

#include <limits>

#include "drivers/tile_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Rows of b that a sweep reads side by side: more streams than this are too many for the memory's prefetchers. Of narrow
/// ones, which are fetched ahead here, it reads more, so that chains seldom go to memory and back.
inline constexpr int64_t kSweepRows = 8, kNarrowSweepRows = 64, kRowsAhead = 16;
inline constexpr bool IsNarrow(int64_t num_panels) { return num_panels <= 4; }

/// How b is stored: as numbers of T.
template <class T>
struct InLanes {
  using Stored = T;
  /// Numbers that lie side by side.
  static HWY_INLINE VecOf<T> Load(const T* numbers) { return LoadU(TagOf<T>(), numbers); }

  /// How many numbers lie in a lane, and f(part, numbers) for each part of the lanes.
  static constexpr int64_t kParts = 1;
  template <class F>
  static HWY_INLINE void ForParts(VecOf<T> lanes, const F& f) {
    f(0, lanes);
  }
};

/// Lines of b, rows or columns, whose numbers lie side by side.
template <class Storage>
struct LinesOf {
  const typename Storage::Stored* data;
  int64_t stride;
};

/// A few rows of b from end to end: for every panel of kTileCols columns, a chain of `k` steps.
template <class T, class Storage>
struct SweepOf {
  int64_t k;
  int64_t num_panels;
  const T* a;  // packed: a[k * rows + i]
  LinesOf<Storage> b;
  const T* resume;         // null, or where the chains stand: a tile a panel
  const T* const* merges;  // earlier partial sums to take in afterwards, likewise
  int num_merges;
  T* out;
  int64_t out_stride;        // between rows of a panel
  int64_t out_panel_stride;  // between panels
};

/// kPanels panels from `panel` on, whose chains go on together.
template <class T, class Storage, int kRows, int kPanels, bool kFetchesAhead>
HWY_INLINE void SweepPanels(const SweepOf<T, Storage>& sweep, int64_t panel) {
  const TagOf<T> d;
  constexpr int64_t kTile = kRows * kTileColsOf<T>;
  constexpr int kVecs = kPanels * kTileVecs;
  // Where vector v of row i is in the tiles of the panels.
  const auto in_tiles = [](int i, int v) {
    return v / kTileVecs * kTile + i * kTileColsOf<T> + v % kTileVecs * kLanesOf<T>;
  };
  VecElementOf<T> acc[kRows][kVecs];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
      acc[i][v] = sweep.resume == nullptr ? Zero(d) : Load(d, sweep.resume + panel * kTile + in_tiles(i, v));
    }
  }
  const T* HWY_RESTRICT a = sweep.a;
  const typename Storage::Stored* HWY_RESTRICT b = sweep.b.data + panel * kTileColsOf<T>;
  const int64_t ahead = kRowsAhead * sweep.b.stride;
  for (int64_t k = 0; k < sweep.k; ++k, a += kRows, b += sweep.b.stride) {
    VecElementOf<T> bv[kVecs];
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
      bv[v] = Storage::Load(b + v * kLanesOf<T>);
      if constexpr (kFetchesAhead) __builtin_prefetch(b + v * kLanesOf<T> + ahead);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const VecOf<T> av = Set(d, a[i]);
#pragma GCC unroll 4
      for (int v = 0; v < kVecs; ++v) acc[i][v] = Fma<VecOf<T>>(av, bv[v], acc[i][v]);
    }
  }
  for (int m = 0; m < sweep.num_merges; ++m) {
    const T* HWY_RESTRICT earlier = sweep.merges[m] + panel * kTile;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVecs; ++v) acc[i][v] = Add(Load(d, earlier + in_tiles(i, v)), acc[i][v]);
    }
  }
  const int64_t panel_stride = sweep.out_panel_stride, row_stride = sweep.out_stride;
  T* out = sweep.out + panel * panel_stride;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i, out += row_stride) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
      StoreU(acc[i][v], d, out + v / kTileVecs * panel_stride + v % kTileVecs * kLanesOf<T>);
    }
  }
}

/// Panels from `panel` on, kPanels at a time; returns the first that is left.
template <class T, class Storage, int kRows, int kPanels, bool kFetchesAhead>
HWY_INLINE int64_t SweepAll(const SweepOf<T, Storage>& sweep, int64_t panel) {
  const int64_t num_panels = sweep.num_panels;
  for (; panel + kPanels <= num_panels; panel += kPanels) {
    SweepPanels<T, Storage, kRows, kPanels, kFetchesAhead>(sweep, panel);
  }
  return panel;
}

template <class T, class Storage, int kRows>
HWY_NOINLINE void RunSweep(const SweepOf<T, Storage>& sweep) {
  int64_t panel = 0;
  if (!IsNarrow(sweep.num_panels)) {
    SweepAll<T, Storage, kRows, 1, false>(sweep, panel);
    return;
  }
  // Few chains do not hide how long an fma takes.
  if constexpr (2 * kRows <= kTileRows) panel = SweepAll<T, Storage, kRows, 2, true>(sweep, panel);
  SweepAll<T, Storage, kRows, 1, true>(sweep, panel);
}

template <class T, class Storage>
using SweepFn = void (*)(const SweepOf<T, Storage>&);

template <class T, class Storage, int... kRows>
constexpr auto SweepTable(std::integer_sequence<int, kRows...>) {
  return std::array<SweepFn<T, Storage>, sizeof...(kRows)>{&RunSweep<T, Storage, kRows + 1>...};
}

/// Visits the terms of a product whose panels all go on together, a few rows of b at a time. What a tile of rows of a has
/// of its own lies behind that of the tiles before it.
template <class T, class Storage>
class SweepVisitor {
 public:
  SweepVisitor(int64_t m, int64_t num_panels, const Chunks& chunks, const MatrixOf<T>& a, const LinesOf<Storage>& b,
               T* c, int64_t c_stride)
      : tiles_{m},
        num_panels_(num_panels),
        sweep_rows_(IsNarrow(num_panels) ? kNarrowSweepRows : kSweepRows),
        row_size_(kTileColsOf<T> * num_panels),
        a_(a),
        b_(b),
        c_(c),
        c_stride_(c_stride),
        rows_(scratch_.Get<T>(sweep_rows_ * m + kLanesOf<T>)),
        held_(scratch_.Get<T>(chunks.num_terms > sweep_rows_ ? m * row_size_ : 0)),
        waiting_(chunks.count > 1 ? scratch_.Get<T>(NumLevels(chunks.count) * m * row_size_) : nullptr) {}

  int64_t SweepRows() const { return sweep_rows_; }

  void Chain(int64_t begin, int64_t end, bool resumes) {
    for (int64_t t = 0; t < tiles_.count; ++t) {
      PackRows(a_, tiles_.Begin(t), tiles_.Rows(t), begin, end - begin, rows_ + sweep_rows_ * tiles_.Begin(t));
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
    static constexpr auto kSweeps = SweepTable<T, Storage>(std::make_integer_sequence<int, kTileRows>());
    const int64_t row = tiles_.Begin(t);
    const T* merges[kMaxLevels];
    for (int m = 0; m < num_merges_; ++m) merges[m] = merges_[m] + row * row_size_;
    kSweeps[tiles_.Rows(t) - 1]({.k = num_k_,
                                 .num_panels = num_panels_,
                                 .a = rows_ + sweep_rows_ * row,
                                 .b = {b_.data + begin_ * b_.stride, b_.stride},
                                 .resume = resumes_ ? held_ + row * row_size_ : nullptr,
                                 .merges = merges,
                                 .num_merges = num_merges_,
                                 .out = out,
                                 .out_stride = out_stride,
                                 .out_panel_stride = out_panel_stride});
  }

  Scratch scratch_;
  RowTiles tiles_;
  int64_t num_panels_, sweep_rows_, row_size_;
  MatrixOf<T> a_;
  LinesOf<Storage> b_;
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
template <class T, class Storage>
void SweepProduct(int64_t m, int64_t num_panels, const Chunks& chunks, const MatrixOf<T>& a, const LinesOf<Storage>& b,
                  T* c, int64_t c_stride) {
  SweepVisitor<T, Storage> visitor(m, num_panels, chunks, a, b, c, c_stride);
  WalkSteps(chunks, visitor.SweepRows(), visitor);
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

/// acc[i] = chain of a[k * kRows + i] and the numbers of term k on top of acc[i], for the terms of a square, of which t[q] has
/// as many as there are parts.
template <class T, class Storage, int kRows>
HWY_INLINE void AddSquare(const T* HWY_RESTRICT a, const VecElementOf<T>* t, VecElementOf<T>* acc) {
#pragma GCC unroll 16
  for (int64_t q = 0; q < kLanesOf<T>; ++q) {
    Storage::ForParts(t[q], [&](int64_t part, VecOf<T> numbers) HWY_ATTR {
      const T* const factors = a + (q * Storage::kParts + part) * kRows;
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) acc[i] = Fma<VecOf<T>>(Set(TagOf<T>(), factors[i]), numbers, acc[i]);
    });
  }
}

/// Vectors of columns whose chains go on together: with few rows, that many hide how long an fma takes. Each reads as many
/// streams as it has lanes, and more than 16 are too many for the prefetchers. Vectors of 512 bits take longer to be
/// transposed than an fma takes.
template <class T, int kRows>
inline constexpr int kVectorsTogether =
    HWY_MAX_BYTES == 64 ? 1 : std::clamp<int>(std::min<int>(4 / kRows, 16 / kLanesOf<T>), 1, 4);

/// Visits the terms of kVectors vectors of columns, a square of terms and columns of each at a time.
template <class T, class Storage, int kRows, int kVectors>
class TransposedVisitor {
  using Stored = typename Storage::Stored;
  static constexpr int64_t kTerms = kLanesOf<T> * Storage::kParts;  // of a square

 public:
  /// `rows` is a, packed; `waiting` has kVectors * kRows vectors for each level.
  TransposedVisitor(int64_t num_terms, const T* rows, int64_t b_stride, T* waiting)
      : num_terms_(num_terms), rows_(rows), b_stride_(b_stride), waiting_(waiting) {}

  /// Begins with other vectors of columns.
  void Begin(const Stored* columns, T* out, int64_t out_stride) {
    columns_ = columns, out_ = out, out_stride_ = out_stride;
    offset_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(columns) / sizeof(Stored) % kTerms);
    square_begin_ = square_end_ = 0;
  }

  void Chain(int64_t begin, int64_t end) {
    Chains acc;
    ForEach([&](int v, int i) HWY_ATTR { acc[v][i] = Zero(TagOf<T>()); });
    for (int64_t k = begin; k < end;) {
      if (k >= square_end_) {
        // Squares begin where cache lines do: columns a power of two apart fight for the same place in the cache, and a
        // line does not stay there for a second load.
        const int64_t length = kTerms - (offset_ + k) % kTerms;
        if (HWY_LIKELY(length == kTerms && k + length <= end)) {
          AddWholeSquares(k, acc);
          k += length;
          continue;
        }
        LoadSquares(k, std::min(length, num_terms_ - k));
      }
      for (const int64_t stop = std::min(end, square_end_); k < stop; ++k) {
        ForEach([&](int v, int i) HWY_ATTR {
          const VecOf<T> bv = Load(TagOf<T>(), Square(v) + (k - square_begin_) * kLanesOf<T>);
          acc[v][i] = Fma<VecOf<T>>(Set(TagOf<T>(), rows_[k * kRows + i]), bv, acc[v][i]);
        });
      }
    }
    ForEach([&](int v, int i) HWY_ATTR { acc_[v][i] = acc[v][i]; });
  }
  void TakeIn(int level) {
    ForEach([&](int v, int i) HWY_ATTR { acc_[v][i] = Add(Load(TagOf<T>(), Waiting(level, v, i)), acc_[v][i]); });
  }
  void Park(int level) {
    ForEach([&](int v, int i) HWY_ATTR { Store(acc_[v][i], TagOf<T>(), Waiting(level, v, i)); });
  }
  void End() {
    ForEach([&](int v, int i) HWY_ATTR { StoreU(acc_[v][i], TagOf<T>(), out_ + v * kLanesOf<T> + i * out_stride_); });
  }

 private:
  using Chains = VecElementOf<T>[kVectors][kRows];

  template <class Step>
  static HWY_INLINE void ForEach(const Step& step) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) step(v, i);
    }
  }
  T* Waiting(int level, int v, int i) const { return waiting_ + ((level * kVectors + v) * kRows + i) * kLanesOf<T>; }
  const Stored* Column(int v, int64_t j) const { return columns_ + (v * kLanesOf<T> + j) * b_stride_; }
  T* Square(int v) { return squares_ + v * kTerms * kLanesOf<T>; }

  HWY_INLINE void AddWholeSquares(int64_t k, Chains& acc) const {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      VecElementOf<T> t[kLanesOf<T>];
      LoadTransposed<T>([&](int64_t j) HWY_ATTR { return reinterpret_cast<const T*>(Column(v, j) + k); }, t);
      for (int64_t j = 0; j < kLanesOf<T>; ++j) __builtin_prefetch(Column(v, j) + k + 2 * kTerms);
      AddSquare<T, Storage, kRows>(rows_ + k * kRows, t, acc[v]);
    }
  }
  /// For the first squares, the last ones, or those inside which a chunk ends.
  HWY_INLINE void LoadSquares(int64_t k, int64_t length) {
    for (int v = 0; v < kVectors; ++v) {
      VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanesOf<T>; ++j) t[j] = FirstOf(Column(v, j) + k, length);
      TransposeSquare<T>(t);
#pragma GCC unroll 16
      for (int64_t q = 0; q < kLanesOf<T>; ++q) {
        Storage::ForParts(t[q], [&](int64_t part, VecOf<T> numbers) HWY_ATTR {
          Store(numbers, TagOf<T>(), Square(v) + (q * Storage::kParts + part) * kLanesOf<T>);
        });
      }
    }
    square_begin_ = k, square_end_ = k + length;
  }

  /// The first `length` numbers from memory, the others 0; nothing behind them is read.
  static HWY_INLINE VecOf<T> FirstOf(const Stored* numbers, int64_t length) {
    if constexpr (std::is_same_v<Stored, T>) {
      return LoadN(numbers, length);
    } else {
      HWY_ALIGN Stored buffer[kTerms] = {};
      std::memcpy(buffer, numbers, sizeof(Stored) * static_cast<size_t>(length));
      return Load(TagOf<T>(), reinterpret_cast<const T*>(buffer));
    }
  }

  int64_t num_terms_;
  const T* rows_;
  int64_t b_stride_;
  T* waiting_;
  const Stored* columns_;
  T* out_;
  int64_t out_stride_;
  int64_t offset_;  // of the columns from the beginning of a vector in memory
  Chains acc_;
  // Terms [square_begin_, square_end_), a vector each.
  int64_t square_begin_, square_end_;
  HWY_ALIGN T squares_[kVectors * kTerms * kLanesOf<T>];
};

template <class T, class Storage, int kRows>
HWY_NOINLINE void TransposedProductOf(int64_t num_vectors, const Chunks& chunks, const MatrixOf<T>& a,
                                      const LinesOf<Storage>& b, T* c, int64_t c_stride) {
  constexpr int kTogether = kVectorsTogether<T, kRows>;
  const int64_t num_k = chunks.num_terms;
  Scratch scratch;
  T* const waiting = scratch.Get<T>(NumLevels(chunks.count) * kTogether * kRows * kLanesOf<T>);
  T* const rows = scratch.Get<T>(num_k * kRows + kLanesOf<T>);
  PackRows(a, 0, kRows, 0, num_k, rows);
  int64_t done = 0;
  const auto run = [&]<int kVectors>() HWY_ATTR {
    TransposedVisitor<T, Storage, kRows, kVectors> visitor(num_k, rows, b.stride, waiting);
    for (; done + kVectors <= num_vectors; done += kVectors) {
      const int64_t j = done * kLanesOf<T>;
      visitor.Begin(b.data + j * b.stride, c + j, c_stride);
      WalkChunks(chunks, visitor);
    }
  };
  if constexpr (kTogether > 1) {
    // Columns that meet in the cache leave no room there for those of another vector.
    if (!MeetInCache(MatrixOf<typename Storage::Stored>{b.data, b.stride, 1})) run.template operator()<kTogether>();
  }
  run.template operator()<1>();
}

template <class T, class Storage>
using TransposedFn = void (*)(int64_t, const Chunks&, const MatrixOf<T>&, const LinesOf<Storage>&, T*, int64_t);

template <class T, class Storage, int... kRows>
constexpr auto TransposedTable(std::integer_sequence<int, kRows...>) {
  return std::array<TransposedFn<T, Storage>, sizeof...(kRows)>{&TransposedProductOf<T, Storage, kRows + 1>...};
}

/// c = a b for m <= kMaxTransposedRows rows and `num_vectors` whole vectors of columns.
template <class T, class Storage>
void TransposedProduct(int64_t m, int64_t num_vectors, const Chunks& chunks, const MatrixOf<T>& a,
                       const LinesOf<Storage>& b, T* c, int64_t c_stride) {
  static constexpr auto kProducts = TransposedTable<T, Storage>(std::make_integer_sequence<int, kMaxTransposedRows>());
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
    const LinesOf<InLanes<T>> rows{b.data, b.row_stride};
    if (panels > 0) SweepProduct(m, panels, {num_k, chunk}, a, rows, c, c_stride);
    return panels * kTileColsOf<T>;
  }
#if HWY_TARGET != HWY_SCALAR
  const int64_t vectors = n / kLanesOf<T>;
  const LinesOf<InLanes<T>> columns{b.data, b.col_stride};
  if (vectors > 0) TransposedProduct(m, vectors, {num_k, chunk}, a, columns, c, c_stride);
  return vectors * kLanesOf<T>;
#else
  return 0;
#endif
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
