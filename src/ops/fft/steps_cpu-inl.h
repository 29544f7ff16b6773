// SPDX-License-Identifier: MIT
// The steps of transforms that lie side by side, in planes of real and of imaginary parts.
#pragma once

#include <algorithm>

#include "drivers/vector_cpu-inl.h"
#include "ops/fft/fft_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/fft/fft.row.h"

/// The real and the imaginary parts.
template <class T>
struct Planes {
  T* re;
  T* im;

  Planes Swapped() const { return {im, re}; }
};

/// What happens to each number at its end.
template <class T>
struct Ending {
  T divisor, reciprocal;  // the reciprocal is 0 unless a product with it is the quotient

  HWY_INLINE VecOf<T> operator()(VecOf<T> v) const {
    const TagOf<T> d;
    if (divisor == T{1}) return v;
    return reciprocal != T{0} ? Mul(v, Set(d, reciprocal)) : Div(v, Set(d, divisor));
  }
  T operator()(T x) const { return hn::GetLane((*this)(Set(TagOf<T>(), x))); }
};
template <class T>
inline constexpr Ending<T> kNoEnding = {1, 1};

enum class Twiddles { kNone, kOfRow, kOfColumn };

/// Numbers of planes.
template <class T>
struct InPlanes {
  Planes<T> planes;

  HWY_INLINE void Load(int64_t at, VecOf<T>& re, VecOf<T>& im) const {
    const TagOf<T> d;
    re = LoadU(d, planes.re + at);
    im = LoadU(d, planes.im + at);
  }
  HWY_INLINE void Store(int64_t at, const VecOf<T>& re, const VecOf<T>& im) const {
    const TagOf<T> d;
    StoreU(re, d, planes.re + at);
    StoreU(im, d, planes.im + at);
  }
};

/// Numbers that lie side by side as pairs, whose parts may be exchanged. Results end there.
template <class T, class Pointer>
struct InPairs {
  Pointer pairs;
  bool are_swapped;
  Ending<T> end;

  HWY_INLINE void Load(int64_t at, VecOf<T>& re, VecOf<T>& im) const {
    const TagOf<T> d;
    are_swapped ? hn::LoadInterleaved2(d, pairs + 2 * at, im, re) : hn::LoadInterleaved2(d, pairs + 2 * at, re, im);
  }
  HWY_INLINE void Store(int64_t at, const VecOf<T>& re, const VecOf<T>& im) const {
    const VecOf<T> first = end(are_swapped ? im : re), second = end(are_swapped ? re : im);
    hn::StoreInterleaved2(first, second, TagOf<T>(), pairs + 2 * at);
  }
};

template <class T>
struct StepArgs {
  int64_t p, l, m, lanes, pitch;
  const T* roots;       // of q = 1 and of the first column
  int64_t root_stride;  // from k to k + 1
  int64_t root_row;     // from q to q + 1
  const T* inside;
};

/// B[k + j l, t] of A[k, t + q m] for all t < m, k < l and lanes. kP is the factor, or 0 for any odd one.
template <class T, int kP, Twiddles kTwiddles, class From, class To>
void Step(const StepArgs<T>& args, const From& x, const To& y) {
  using V = VecOf<T>;
  const TagOf<T> d;
  const int64_t p = kP == 0 ? args.p : kP, m = args.m;
  constexpr int kMax = kP == 0 ? static_cast<int>(kMaxFftFactor) : kP;
  const int64_t from_row = m * args.pitch, to_row = args.l * m * args.pitch;
  // With the same factors for all columns, rows are read and written from end to end: those of a step lie powers of two
  // apart, and a cache line of theirs would not stay in the cache until its other half is needed.
  const bool whole = kTwiddles != Twiddles::kOfColumn && args.lanes == args.pitch;
  const int64_t columns = whole ? kLanesOf<T> : args.lanes, apart = whole ? kLanesOf<T> : args.pitch;
  for (int64_t k = 0; k < args.l; ++k) {
    for (int64_t c = 0; c < columns; c += kLanesOf<T>) {
      VecElementOf<T> w_re[kMax], w_im[kMax];
      if constexpr (kTwiddles != Twiddles::kNone) {
#pragma GCC unroll 7
        for (int64_t q = 1; q < p; ++q) {
          const T* const re = args.roots + k * args.root_stride + (q - 1) * args.root_row;
          const T* const im = re + (p - 1) * args.root_row;
          w_re[q] = kTwiddles == Twiddles::kOfRow ? Set(d, *re) : LoadU(d, re + c);
          w_im[q] = kTwiddles == Twiddles::kOfRow ? Set(d, *im) : LoadU(d, im + c);
        }
      }
      const int64_t from = k * p * from_row + c, to = k * from_row + c;
      for (int64_t at = 0; at < from_row; at += apart) {
        VecElementOf<T> a_re[kMax], a_im[kMax];
#pragma GCC unroll 8
        for (int64_t q = 0; q < p; ++q) {
          V re, im;
          x.Load(from + at + q * from_row, re, im);
          if constexpr (kTwiddles != Twiddles::kNone) {
            if (q > 0) Times(re, im, V(w_re[q]), V(w_im[q]), re, im);
          }
          a_re[q] = re;
          a_im[q] = im;
        }
        const auto put = [&](int64_t j, const V& re, const V& im) HWY_ATTR { y.Store(to + at + j * to_row, re, im); };
        Butterfly<V, kP>(a_re, a_im, p, args.inside, put);
      }
    }
  }
}

template <class T, Twiddles kTwiddles, class From, class To>
void StepOf(const StepArgs<T>& args, const From& x, const To& y) {
  switch (args.p) {
    case 2: return Step<T, 2, kTwiddles>(args, x, y);
    case 3: return Step<T, 3, kTwiddles>(args, x, y);
    case 4: return Step<T, 4, kTwiddles>(args, x, y);
    case 5: return Step<T, 5, kTwiddles>(args, x, y);
    default: return Step<T, 0, kTwiddles>(args, x, y);
  }
}

/// Steps of factors whose product is n, of elements of `lanes` numbers, which lie `pitch` apart. If factors before these are
/// left out, whose product is `columns`, what the lanes hold are their results from number `column` on.
struct StepRange {
  int first, last;
  int64_t n, column, columns, lanes, pitch;
};

/// Step i, where l is the product of the factors in the range before it.
template <class T, Twiddles kTwiddles, class From, class To>
void StepAt(const FftTable<T>& table, const StepRange& range, int i, int64_t l, const From& x, const To& y) {
  const T* const roots = kTwiddles == Twiddles::kNone ? nullptr : table.roots[i] + range.column;
  StepOf<T, kTwiddles>({table.factors[i], l, range.n / (l * table.factors[i]), range.lanes, range.pitch, roots,
                        range.columns, l * range.columns, table.inside[i]},
                       x, y);
}

/// The steps of x into x, with y as room. The product of the factors in the range before the first one is l.
template <class T>
void Steps(const FftTable<T>& table, const StepRange& range, int64_t l, Planes<T>& x, Planes<T>& y) {
  for (int i = range.first; i < range.last; ++i) {
    const InPlanes<T> from{x}, to{y};
    if (table.roots[i] == nullptr) {
      StepAt<T, Twiddles::kNone>(table, range, i, l, from, to);
    } else if (range.columns == 1) {
      StepAt<T, Twiddles::kOfRow>(table, range, i, l, from, to);
    } else {
      StepAt<T, Twiddles::kOfColumn>(table, range, i, l, from, to);
    }
    std::swap(x, y);
    l *= table.factors[i];
  }
}

}  // namespace
}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
