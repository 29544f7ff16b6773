// SPDX-License-Identifier: MIT
// Transforms of many rows go side by side, a row in each lane. A long row is a matrix, whose columns are transformed by
// the first factors of the length, and then its rows by the others: these are many again. What is transformed together
// lies in planes of real and of imaginary parts, which stay in the cache.
#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/transpose_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/fft/fft_kernel.h"
#include "ops/fft/row_in_cache_cpu-inl.h"
#include "ops/fft/steps_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Rows that are transformed together: a cache line of them, or more if a vector holds more.
template <class T>
inline constexpr int64_t kColumns = std::max(kLineOf<T>, kLanesOf<T>);

/// Complex numbers worth a fork of the threads.
constexpr int64_t kGrain = 2048;

/// Where the columns of a block begin, in Ts. Those behind `count` are as the first one.
template <class T>
struct Block {
  int64_t count;
  int64_t starts[kColumns<T>];

  template <class Start>
  Block(int64_t first, int64_t end, const Start& start) : count(std::min(end - first, kColumns<T>)) {
    for (int64_t c = 0; c < kColumns<T>; ++c) starts[c] = start(first + (c < count ? c : 0));
  }
  /// Lanes to compute: whole vectors.
  int64_t Lanes() const { return (count + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>; }
  /// Whether a vector of columns from c on is full, and these lie `step` apart.
  bool AreApart(int64_t c, int64_t step) const {
    if (c + kLanesOf<T> > count) return false;
    for (int64_t i = 1; i < kLanesOf<T>; ++i) {
      if (starts[c + i] != starts[c] + i * step) return false;
    }
    return true;
  }
};

// Between memory and planes.

#if HWY_TARGET != HWY_SCALAR

/// A vector's number of rows of pairs, from their element i on, as columns from c on.
template <class T>
HWY_INLINE void TransposeIn(const T* const* rows, int64_t i, T* re, T* im) {
  const TagOf<T> d;
  constexpr int64_t kLanesHere = kLanesOf<T>;
  if constexpr (sizeof(T) == 4) {
    // A pair is as wide as a double.
    const TagOf<double> dd;
    constexpr int64_t kPairs = kLanesOf<double>;
    VecElementOf<double> low[kPairs], high[kPairs];
    for (int64_t r = 0; r < kPairs; ++r) {
      low[r] = BitCast(dd, LoadU(d, rows[r] + 2 * i));
      high[r] = BitCast(dd, LoadU(d, rows[kPairs + r] + 2 * i));
    }
    TransposeSquare<double>(low);
    TransposeSquare<double>(high);
    for (int64_t r = 0; r < kPairs; ++r) {
      const VecOf<T> first = BitCast(d, VecOf<double>(low[r])), second = BitCast(d, VecOf<double>(high[r]));
      StoreU(hn::ConcatEven(d, second, first), d, re + (i + r) * kColumns<T>);
      StoreU(hn::ConcatOdd(d, second, first), d, im + (i + r) * kColumns<T>);
    }
  } else {
    VecElementOf<T> a[kLanesHere], b[kLanesHere];
    for (int64_t r = 0; r < kLanesHere; ++r) {
      VecOf<T> x, y;
      hn::LoadInterleaved2(d, rows[r] + 2 * i, x, y);
      a[r] = x;
      b[r] = y;
    }
    TransposeSquare<T>(a);
    TransposeSquare<T>(b);
    for (int64_t r = 0; r < kLanesHere; ++r) {
      StoreU(a[r], d, re + (i + r) * kColumns<T>);
      StoreU(b[r], d, im + (i + r) * kColumns<T>);
    }
  }
}

/// The other way; rows from `count` on are not written.
template <class T>
HWY_INLINE void TransposeOut(const T* re, const T* im, int64_t i, const Ending<T>& end, int64_t count, T* const* rows) {
  const TagOf<T> d;
  constexpr int64_t kLanesHere = kLanesOf<T>;
  if constexpr (sizeof(T) == 4) {
    const TagOf<double> dd;
    constexpr int64_t kPairs = kLanesOf<double>;
    VecElementOf<double> low[kPairs], high[kPairs];
    for (int64_t r = 0; r < kPairs; ++r) {
      const VecOf<T> x = end(LoadU(d, re + (i + r) * kColumns<T>)), y = end(LoadU(d, im + (i + r) * kColumns<T>));
      low[r] = BitCast(dd, hn::InterleaveLower(d, x, y));
      high[r] = BitCast(dd, hn::InterleaveUpper(d, x, y));
    }
    TransposeSquare<double>(low);
    TransposeSquare<double>(high);
    for (int64_t r = 0; r < kPairs; ++r) {
      const int64_t c = r / 2 * 4 + r % 2;  // of four columns in a block of 128 bits the first two lie in the lower one
      if (c < count) StoreU(BitCast(d, VecOf<double>(low[r])), d, rows[c] + 2 * i);
      if (c + 2 < count) StoreU(BitCast(d, VecOf<double>(high[r])), d, rows[c + 2] + 2 * i);
    }
  } else {
    VecElementOf<T> a[kLanesHere], b[kLanesHere];
    for (int64_t r = 0; r < kLanesHere; ++r) {
      a[r] = end(LoadU(d, re + (i + r) * kColumns<T>));
      b[r] = end(LoadU(d, im + (i + r) * kColumns<T>));
    }
    TransposeSquare<T>(a);
    TransposeSquare<T>(b);
    for (int64_t r = 0; r < kLanesHere; ++r) {
      if (r < count) hn::StoreInterleaved2(VecOf<T>(a[r]), VecOf<T>(b[r]), d, rows[r] + 2 * i);
    }
  }
}

/// Elements that TransposeIn and TransposeOut take at a time.
template <class T>
inline constexpr int64_t kTransposed = kLanesOf<double>;

#endif

/// Elements 0 to n - 1 of the columns of a block. Without imaginary parts these are +0.
template <class T>
void Gather(const FftRow<const T>& from, const Block<T>& block, int64_t n, const Planes<T>& planes) {
  const TagOf<T> d;
  constexpr int64_t kStep = kColumns<T>;
  const bool swapped = from.imaginary != nullptr && from.real == from.imaginary + 1;
  const bool paired = swapped || (from.imaginary != nullptr && from.imaginary == from.real + 1);
  const Planes<T> to = swapped ? planes.Swapped() : planes;
  const T* const re = swapped ? from.imaginary : from.real;
  const T* const im = swapped ? from.real : from.imaginary;
  for (int64_t c = 0; c < block.Lanes(); c += kLanesOf<T>) {
    int64_t i = 0;
    if (paired && block.AreApart(c, 2)) {
      for (const T* p = re + block.starts[c]; i < n; ++i, p += from.step) {
        VecOf<T> x, y;
        hn::LoadInterleaved2(d, p, x, y);
        StoreU(x, d, to.re + i * kStep + c);
        StoreU(y, d, to.im + i * kStep + c);
      }
    } else if (!paired && block.AreApart(c, 1)) {
      for (; i < n; ++i) {
        const int64_t at = block.starts[c] + i * from.step;
        StoreU(LoadU(d, re + at), d, to.re + i * kStep + c);
        StoreU(im == nullptr ? Zero(d) : LoadU(d, im + at), d, to.im + i * kStep + c);
      }
    }
#if HWY_TARGET != HWY_SCALAR
    if (paired && from.step == 2) {
      const T* rows[kLanesOf<T>];
      for (int64_t r = 0; r < kLanesOf<T>; ++r) rows[r] = re + block.starts[c + r];
      for (; i + kTransposed<T> <= n; i += kTransposed<T>) TransposeIn<T>(rows, i, to.re + c, to.im + c);
    }
#endif
    for (; i < n; ++i) {
      for (int64_t r = c; r < c + kLanesOf<T>; ++r) {
        const int64_t at = block.starts[r] + i * from.step;
        to.re[i * kStep + r] = re[at];
        to.im[i * kStep + r] = im == nullptr ? T{0} : im[at];
      }
    }
  }
}

/// The other way. Either part may be left out.
template <class T>
void Scatter(const Planes<T>& planes, const Block<T>& block, int64_t n, const Ending<T>& end, const FftRow<T>& to) {
  const TagOf<T> d;
  constexpr int64_t kStep = kColumns<T>;
  const bool swapped = to.imaginary != nullptr && to.real == to.imaginary + 1;
  const bool paired = swapped || (to.real != nullptr && to.imaginary != nullptr && to.imaginary == to.real + 1);
  const Planes<T> from = swapped ? planes.Swapped() : planes;
  T* const re = swapped ? to.imaginary : to.real;
  T* const im = swapped ? to.real : to.imaginary;
  for (int64_t c = 0; c < block.count; c += kLanesOf<T>) {
    int64_t i = 0;
    if (paired && block.AreApart(c, 2)) {
      for (T* p = re + block.starts[c]; i < n; ++i, p += to.step) {
        const VecOf<T> x = end(LoadU(d, from.re + i * kStep + c)), y = end(LoadU(d, from.im + i * kStep + c));
        hn::StoreInterleaved2(x, y, d, p);
      }
    } else if (!paired && block.AreApart(c, 1)) {
      for (; i < n; ++i) {
        const int64_t at = block.starts[c] + i * to.step;
        if (re != nullptr) StoreU(end(LoadU(d, from.re + i * kStep + c)), d, re + at);
        if (im != nullptr) StoreU(end(LoadU(d, from.im + i * kStep + c)), d, im + at);
      }
    }
    const int64_t count = std::min(block.count - c, kLanesOf<T>);
#if HWY_TARGET != HWY_SCALAR
    if (paired && to.step == 2) {
      T* rows[kLanesOf<T>];
      for (int64_t r = 0; r < kLanesOf<T>; ++r) rows[r] = re + block.starts[c + r];
      for (; i + kTransposed<T> <= n; i += kTransposed<T>) {
        TransposeOut<T>(from.re + c, from.im + c, i, end, count, rows);
      }
    }
#endif
    for (; i < n; ++i) {
      HWY_ALIGN T x[kLanesOf<T>], y[kLanesOf<T>];
      Store(end(LoadU(d, from.re + i * kStep + c)), d, x);
      Store(end(LoadU(d, from.im + i * kStep + c)), d, y);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t at = block.starts[c + r] + i * to.step;
        if (re != nullptr) re[at] = x[r];
        if (im != nullptr) im[at] = y[r];
      }
    }
  }
}

// Blocks of columns.

/// Each number of the first n rows times that of the row.
template <class T>
void TimesRows(const Planes<T>& x, int64_t n, int64_t lanes, const T* factors) {
  const TagOf<T> d;
  for (int64_t i = 0; i < n; ++i) {
    const VecOf<T> re = Set(d, factors[i]), im = Set(d, factors[n + i]);
    for (int64_t at = i * kColumns<T>; at < i * kColumns<T> + lanes; at += kLanesOf<T>) {
      VecOf<T> product_re, product_im;
      Times(LoadU(d, x.re + at), LoadU(d, x.im + at), re, im, product_re, product_im);
      StoreU(product_re, d, x.re + at);
      StoreU(product_im, d, x.im + at);
    }
  }
}

/// Transforms x, with y as room, into x.
template <class T>
void TransformColumns(const FftTable<T>& table, int64_t lanes, Planes<T>& x, Planes<T>& y) {
  const int64_t n = table.n, length = table.length;
  if (table.chirp == nullptr) {
    Steps(table, {0, table.num_factors, n, 0, 1, lanes, kColumns<T>}, 1, x, y);
    return;
  }
  TimesRows(x, n, lanes, table.chirp);
  std::fill(x.re + n * kColumns<T>, x.re + length * kColumns<T>, T{0});
  std::fill(x.im + n * kColumns<T>, x.im + length * kColumns<T>, T{0});
  Steps(table, {0, table.num_factors, length, 0, 1, lanes, kColumns<T>}, 1, x, y);
  TimesRows(x, length, lanes, table.kernel);
  x = x.Swapped();
  Steps(table, {0, table.num_factors, length, 0, 1, lanes, kColumns<T>}, 1, x, y);
  x = x.Swapped();
  TimesRows(x, n, lanes, table.chirp);
}

/// Of the spectrum of h pairs: that of 2h real numbers, of which there are h + 1.
template <class T>
void UntangleColumns(const T* roots, int64_t h, int64_t lanes, const Planes<T>& z, const Planes<T>& x) {
  const TagOf<T> d;
  for (int64_t k = 0; k <= h; ++k) {
    const VecOf<T> root_re = Set(d, roots[k]), root_im = Set(d, roots[h + 1 + k]);
    const int64_t here = (k == h ? 0 : k) * kColumns<T>, there = (k == 0 ? 0 : h - k) * kColumns<T>;
    for (int64_t c = 0; c < lanes; c += kLanesOf<T>) {
      VecOf<T> re, im;
      Untangle(LoadU(d, z.re + here + c), LoadU(d, z.im + here + c), LoadU(d, z.re + there + c),
               LoadU(d, z.im + there + c), root_re, root_im, re, im);
      StoreU(re, d, x.re + k * kColumns<T> + c);
      StoreU(im, d, x.im + k * kColumns<T> + c);
    }
  }
}

template <class T>
void TangleColumns(const T* roots, int64_t h, int64_t lanes, const Planes<T>& x, const Planes<T>& z) {
  const TagOf<T> d;
  for (int64_t k = 0; k < h; ++k) {
    const VecOf<T> root_re = Set(d, roots[k]), root_im = Neg(Set(d, roots[h + 1 + k]));
    const int64_t here = k * kColumns<T>, there = (h - k) * kColumns<T>;
    for (int64_t c = 0; c < lanes; c += kLanesOf<T>) {
      VecOf<T> re, im;
      Tangle(LoadU(d, x.re + here + c), LoadU(d, x.im + here + c), LoadU(d, x.re + there + c),
             LoadU(d, x.im + there + c), root_re, root_im, re, im);
      StoreU(re, d, z.re + here + c);
      StoreU(im, d, z.im + here + c);
    }
  }
}

template <class T>
void ZeroRow(T* plane, int64_t i) {
  std::fill(plane + i * kColumns<T>, plane + (i + 1) * kColumns<T>, T{0});
}

template <class T>
void TransformBlock(const FftArgs<T>& args, const Block<T>& in, const Block<T>& out, Planes<T> x, Planes<T> y) {
  const int64_t n = args.table.n, lanes = in.Lanes();
  const Ending<T> end{args.divisor, args.reciprocal};
  switch (args.kind) {
    case FftKind::kComplex: {
      Gather(args.inverse ? args.in.Swapped() : args.in, in, n, x);
      TransformColumns(args.table, lanes, x, y);
      Scatter(x, out, n, end, args.inverse ? args.out.Swapped() : args.out);
      return;
    }
    case FftKind::kFromReal: {
      Gather(args.in, in, n, x);
      TransformColumns(args.table, lanes, x, y);
      Scatter(x, out, n / 2 + 1, end, args.out);
      return;
    }
    case FftKind::kFromPairs: {
      Gather(args.in, in, n, x);
      TransformColumns(args.table, lanes, x, y);
      UntangleColumns(args.untangling, n, lanes, x, y);
      Scatter(y, out, n + 1, end, args.out);
      return;
    }
    case FftKind::kToReal: {
      Gather(args.in, in, n / 2 + 1, x);
      ZeroRow(x.im, 0);
      for (int64_t k = 1; k <= n / 2; ++k) {
        for (int64_t c = 0; c < lanes; ++c) {
          x.re[(n - k) * kColumns<T> + c] = x.re[k * kColumns<T> + c];
          x.im[(n - k) * kColumns<T> + c] = -x.im[k * kColumns<T> + c];
        }
      }
      x = x.Swapped();
      TransformColumns(args.table, lanes, x, y);
      Scatter(x, out, n, end, args.out.Swapped());
      return;
    }
    case FftKind::kToPairs: {
      Gather(args.in, in, n + 1, x);
      ZeroRow(x.im, 0);
      ZeroRow(x.im, n);
      TangleColumns(args.untangling, n, lanes, x, y);
      y = y.Swapped();
      TransformColumns(args.table, lanes, y, x);
      Scatter(y, out, n, end, args.out.Swapped());
      return;
    }
  }
}

template <class T>
Planes<T> NewPlanes(Scratch& scratch, int64_t size) {
  T* const re = scratch.Get<T>(2 * size + kColumns<T>);  // the planes do not lie a power of two apart
  return {re, re + size + kColumns<T>};
}

/// Asks for the rows of a block, which lie far apart, so that the hardware does not foresee them.
template <class T, int kWrite>
void Prefetch(const T* data, int64_t step, const Block<T>& block, int64_t n) {
  if (step != 2) return;
  for (int64_t c = 0; c < block.count; ++c) {
    const T* const row = data + block.starts[c];
    for (int64_t i = 0; i < 2 * n; i += kLineOf<T>) __builtin_prefetch(row + i, kWrite, 2);
  }
}

template <class T>
void TransformByColumns(const FftArgs<T>& args) {
  const int64_t blocks = (args.num_rows + kColumns<T> - 1) / kColumns<T>;
  const int64_t size = (args.table.length + 1) * kColumns<T>;  // the spectrum of real numbers has one number more
  ParallelRanges(blocks, kGrain / size + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    const Planes<T> x = NewPlanes<T>(scratch, size), y = NewPlanes<T>(scratch, size);
    const int64_t last = std::min(end * kColumns<T>, args.num_rows);
    const auto in_at = [&](int64_t row) { return args.in_starts.Offset(row); };
    const auto out_at = [&](int64_t row) { return args.out_starts.Offset(row); };
    Block<T> in(begin * kColumns<T>, args.num_rows, in_at);
    for (int64_t i = begin * kColumns<T>; i < last; i += kColumns<T>) {
      const Block<T> out(i, args.num_rows, out_at), here = in;
      Prefetch<T, 1>(args.out.real, args.out.step, out, args.table.n);
      if (i + kColumns<T> < last) {
        in = Block<T>(i + kColumns<T>, args.num_rows, in_at);
        Prefetch<T, 0>(args.in.real, args.in.step, in, args.table.n);
      }
      TransformBlock(args, here, out, x, y);
    }
  });
}

// Long rows.

/// body(begin, end) on ranges that cover [0, n), by the threads if there are few rows.
template <class Body>
void Ranges(bool parallel, int64_t n, int64_t grain, const Body& body) {
  if (parallel) {
    ParallelRanges(n, grain, body);
  } else {
    body(int64_t{0}, n);
  }
}

template <class T>
FftRow<T> Pairs(T* data) {
  return {data, data + 1, 2};
}
template <class T>
FftRow<const T> ToRead(const FftRow<T>& row) {
  return {row.real, row.imaginary, row.step};
}

/// The transform of a row as that of columns and of rows of a matrix; `room` is for n pairs. `out` may be `in`.
template <class T>
void TransformMatrix(const FftTable<T>& table, bool parallel, const FftRow<const T>& in, const FftRow<T>& out,
                     const Ending<T>& end_of, T* room) {
  if (const Cut cut = CutOf(table); cut.split != 0 && ArePairs(in) && ArePairs(out)) {
    return TransformInCache(table, cut, in, out, end_of);
  }
  const int64_t rows = table.rows, columns = table.columns;
  constexpr int64_t kStep = kColumns<T>;
  Ranges(parallel, (columns + kStep - 1) / kStep, kGrain / (rows * kStep) + 1,
         [&](int64_t begin, int64_t end) HWY_ATTR {
           Scratch scratch;
           Planes<T> x = NewPlanes<T>(scratch, rows * kStep), y = NewPlanes<T>(scratch, rows * kStep);
           for (int64_t t = begin * kStep; t < std::min(end * kStep, columns); t += kStep) {
             const Block<T> from(t, columns, [&](int64_t i) { return i * in.step; });
             const Block<T> to(t, columns, [&](int64_t i) { return 2 * i; });
             Gather<T>({in.real, in.imaginary, columns * in.step}, from, rows, x);
             Steps(table, {0, table.split, rows, 0, 1, from.Lanes(), kStep}, 1, x, y);
             Scatter<T>(x, to, rows, kNoEnding<T>, {room, room + 1, 2 * columns});
           }
         });
  Ranges(parallel, (rows + kStep - 1) / kStep, kGrain / (columns * kStep) + 1,
         [&](int64_t begin, int64_t end) HWY_ATTR {
           Scratch scratch;
           Planes<T> x = NewPlanes<T>(scratch, columns * kStep), y = NewPlanes<T>(scratch, columns * kStep);
           for (int64_t k = begin * kStep; k < std::min(end * kStep, rows); k += kStep) {
             const Block<T> from(k, rows, [&](int64_t i) { return 2 * columns * i; });
             const Block<T> to(k, rows, [&](int64_t i) { return i * out.step; });
             Gather<T>(ToRead(Pairs(room)), from, columns, x);
             Steps(table, {table.split, table.num_factors, columns, k, rows, from.Lanes(), kStep}, 1, x, y);
             Scatter<T>(x, to, columns, end_of, {out.real, out.imaginary, rows * out.step});
           }
         });
}

/// Each of n pairs times its factor.
template <class T>
void TimesPairs(T* pairs, const T* factors, int64_t n) {
  const TagOf<T> d;
  VecOf<T> a, b, re, im;
  int64_t i = 0;
  for (; i + kLanesOf<T> <= n; i += kLanesOf<T>) {
    hn::LoadInterleaved2(d, pairs + 2 * i, a, b);
    Times(a, b, LoadU(d, factors + i), LoadU(d, factors + n + i), re, im);
    hn::StoreInterleaved2(re, im, d, pairs + 2 * i);
  }
  for (; i < n; ++i) {
    Times(Set(d, pairs[2 * i]), Set(d, pairs[2 * i + 1]), Set(d, factors[i]), Set(d, factors[n + i]), re, im);
    pairs[2 * i] = hn::GetLane(re);
    pairs[2 * i + 1] = hn::GetLane(im);
  }
}

template <class T>
void CopyIn(const FftRow<const T>& from, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) {
    to[2 * i] = from.real[i * from.step];
    to[2 * i + 1] = from.imaginary == nullptr ? T{0} : from.imaginary[i * from.step];
  }
}

template <class T>
void CopyOut(const T* from, int64_t n, const Ending<T>& end, const FftRow<T>& to) {
  for (int64_t i = 0; i < n; ++i) {
    if (to.real != nullptr) to.real[i * to.step] = end(from[2 * i]);
    if (to.imaginary != nullptr) to.imaginary[i * to.step] = end(from[2 * i + 1]);
  }
}

/// Pairs that TransformLong needs room for.
template <class T>
int64_t RoomOf(const FftTable<T>& table) {
  return table.chirp == nullptr ? table.n : 2 * table.length;
}

/// The transform of a long row. `out` may be `in`.
template <class T>
void TransformLong(const FftTable<T>& table, bool parallel, const FftRow<const T>& in, const FftRow<T>& out,
                   const Ending<T>& end, T* room) {
  if (table.chirp == nullptr) {
    TransformMatrix(table, parallel, in, out, end, room);
    return;
  }
  const int64_t n = table.n, length = table.length;
  T* const rest = room + 2 * length;
  const FftRow<T> pairs = Pairs(room);
  CopyIn(in, n, room);
  TimesPairs(room, table.chirp, n);
  std::fill(room + 2 * n, room + 2 * length, T{0});
  TransformMatrix(table, parallel, ToRead(pairs), pairs, kNoEnding<T>, rest);
  TimesPairs(room, table.kernel, length);
  TransformMatrix(table, parallel, ToRead(pairs.Swapped()), pairs.Swapped(), kNoEnding<T>, rest);
  TimesPairs(room, table.chirp, n);
  CopyOut(room, n, end, out);
}

/// Untangle or Tangle of pairs z[k] and z[h - k], k from `begin` to h - 1, into vectors for store(k, re, im).
template <class T, class Formula, class Store>
void TangledPairs(const T* z, const T* roots, int64_t begin, int64_t h, bool parallel, const Formula& formula,
                  const Store& store) {
  const TagOf<T> d;
  Ranges(parallel, (h - begin + kLanesOf<T> - 1) / kLanesOf<T>, kGrain / kLanesOf<T>,
         [&](int64_t first, int64_t last) HWY_ATTR {
           for (int64_t i = first; i < last; ++i) {
             const int64_t k = std::min(begin + i * kLanesOf<T>, h - kLanesOf<T>);  // the last one overlaps
             VecOf<T> a, b, c, e, re, im;
             hn::LoadInterleaved2(d, z + 2 * k, a, b);
             hn::LoadInterleaved2(d, z + 2 * (h - k - kLanesOf<T> + 1), c, e);
             formula(a, b, hn::Reverse(d, c), hn::Reverse(d, e), LoadU(d, roots + k), LoadU(d, roots + h + 1 + k), re,
                     im);
             store(k, re, im);
           }
         });
}

template <class T>
void TransformRow(const FftArgs<T>& args, bool parallel, const FftRow<const T>& in, const FftRow<T>& out) {
  const TagOf<T> d;
  const int64_t n = args.table.n;
  const Ending<T> end{args.divisor, args.reciprocal};
  Scratch scratch;
  T* const room = scratch.Get<T>(2 * RoomOf(args.table));
  if (args.kind == FftKind::kComplex) {
    const bool swapped = args.inverse;
    TransformLong(args.table, parallel, swapped ? in.Swapped() : in, swapped ? out.Swapped() : out, end, room);
    return;
  }
  T* const z = scratch.Get<T>(2 * (n + 1));
  const FftRow<T> pairs = Pairs(z);
  switch (args.kind) {
    case FftKind::kComplex: return;
    case FftKind::kFromReal: {
      TransformLong(args.table, parallel, in, pairs, kNoEnding<T>, room);
      CopyOut(z, n / 2 + 1, end, out);
      return;
    }
    case FftKind::kFromPairs: {
      TransformLong(args.table, parallel, in, pairs, kNoEnding<T>, room);
      const bool direct = out.step == 2 && out.imaginary == out.real + 1;
      T* const x = direct ? out.real : scratch.Get<T>(2 * (n + 1));
      for (const int64_t k : {int64_t{0}, n}) {
        VecOf<T> re, im;
        const VecOf<T> a = Set(d, z[0]), b = Set(d, z[1]);
        Untangle(a, b, a, b, Set(d, args.untangling[k]), Set(d, args.untangling[n + 1 + k]), re, im);
        x[2 * k] = hn::GetLane(direct ? end(re) : re);
        x[2 * k + 1] = hn::GetLane(direct ? end(im) : im);
      }
      TangledPairs(
          z, args.untangling, 1, n, parallel,
          [](VecOf<T> a, VecOf<T> b, VecOf<T> c, VecOf<T> e, VecOf<T> root_re, VecOf<T> root_im, VecOf<T>& re,
             VecOf<T>& im) HWY_ATTR { Untangle(a, b, c, e, root_re, root_im, re, im); },
          [&](int64_t k, const VecOf<T>& re, const VecOf<T>& im)
              HWY_ATTR { hn::StoreInterleaved2(direct ? end(re) : re, direct ? end(im) : im, d, x + 2 * k); });
      if (!direct) CopyOut(x, n + 1, end, out);
      return;
    }
    case FftKind::kToReal: {
      CopyIn(in, n / 2 + 1, z);
      z[1] = 0;
      for (int64_t k = 1; k <= n / 2; ++k) {
        z[2 * (n - k)] = z[2 * k];
        z[2 * (n - k) + 1] = -z[2 * k + 1];
      }
      TransformLong(args.table, parallel, ToRead(pairs.Swapped()), out.Swapped(), end, room);
      return;
    }
    case FftKind::kToPairs: {
      const bool direct = in.step == 2 && in.imaginary == in.real + 1;
      T* const copy = direct ? nullptr : scratch.Get<T>(2 * (n + 1));
      if (!direct) CopyIn(in, n + 1, copy);
      const T* const x = direct ? in.real : copy;
      {
        VecOf<T> re, im;
        Tangle(Set(d, x[0]), Zero(d), Set(d, x[2 * n]), Zero(d), Set(d, args.untangling[0]),
               Neg(Set(d, args.untangling[n + 1])), re, im);
        z[0] = hn::GetLane(re);
        z[1] = hn::GetLane(im);
      }
      TangledPairs(
          x, args.untangling, 1, n, parallel,
          [](VecOf<T> a, VecOf<T> b, VecOf<T> c, VecOf<T> e, VecOf<T> root_re, VecOf<T> root_im, VecOf<T>& re,
             VecOf<T>& im) HWY_ATTR { Tangle(a, b, c, e, root_re, Neg(root_im), re, im); },
          [&](int64_t k, const VecOf<T>& re, const VecOf<T>& im)
              HWY_ATTR { hn::StoreInterleaved2(re, im, d, z + 2 * k); });
      TransformLong(args.table, parallel, ToRead(pairs.Swapped()), out.Swapped(), end, room);
      return;
    }
  }
}

/// Whether rows are better transformed one by one. All that this changes is the time.
template <class T>
bool AreLong(const FftArgs<T>& args) {
  const FftTable<T>& table = args.table;
  if (ArePairs(args.in) && ArePairs(args.out) && CutOf(table).split != 0) return true;
  if (table.split == 0 || table.n < 64) return false;
  // Neighbours are read and written best in columns.
  if (args.num_rows >= kColumns<T> && args.in_starts.InnerStride() <= 2 && args.out_starts.InnerStride() <= 2) {
    return table.length * kColumns<T> * static_cast<int64_t>(sizeof(T)) > (int64_t{1} << 20);
  }
  return table.length >= 2048 || 4 * args.num_rows <= kLanesOf<T>;
}

template <class T>
void Transform(const FftArgs<T>& args) {
  if (!AreLong(args)) {
    TransformByColumns(args);
    return;
  }
  const bool by_rows = args.num_rows >= 2 * GetNumThreads();
  const auto rows = [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t in = args.in_starts.Offset(row), out = args.out_starts.Offset(row);
      const auto at = [](auto* p, int64_t offset) { return p == nullptr ? p : p + offset; };
      TransformRow<T>(args, !by_rows, {at(args.in.real, in), at(args.in.imaginary, in), args.in.step},
                      {at(args.out.real, out), at(args.out.imaginary, out), args.out.step});
    }
  };
  Ranges(by_rows, args.num_rows, kGrain / args.table.n + 1, rows);
}

template <class T>
void Mirror(const FftMirrorArgs<T>& args) {
  const int64_t n = args.shape[args.last];
  int64_t rows = 1;
  for (int i = 0; i < args.shape.size(); ++i) rows *= i == args.last ? 1 : args.shape[i];
  ParallelRanges(rows, 2 * kGrain / n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, to = 0, from = 0;
      for (int i = args.shape.size() - 1; i >= 0; --i) {
        if (i == args.last) continue;
        const int64_t at = rest % args.shape[i];
        rest /= args.shape[i];
        to += at * args.strides[i];
        from += (args.is_transformed[i] && at > 0 ? args.shape[i] - at : at) * args.strides[i];
      }
      const int64_t stride = args.strides[args.last];
      for (int64_t k = n / 2 + 1; k < n; ++k) {
        args.data[to + k * stride] = args.data[from + (n - k) * stride];
        args.data[to + k * stride + 1] = -args.data[from + (n - k) * stride + 1];
      }
    }
  });
}

}  // namespace

void FftKernel(const FftArgs<float>& args) { Transform(args); }
void FftKernel(const FftArgs<double>& args) { Transform(args); }
void FftMirrorKernel(const FftMirrorArgs<float>& args) { Mirror(args); }
void FftMirrorKernel(const FftMirrorArgs<double>& args) { Mirror(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
