// SPDX-License-Identifier: MIT
#include <limits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/narrow_cpu-inl.h"
#include "drivers/rows_as_columns_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/amax/amax_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Numbers that are copied at a time where they do not lie side by side as they are.
constexpr int64_t kPiece = 512;
/// Columns that are reduced at a time.
constexpr int64_t kStrip = 1024;
/// Numbers that are worth a fork.
constexpr int64_t kGrain = Grain(32768, 100);

template <class T>
struct Largest {
  using Number = T;
  static constexpr T kLeast = -std::numeric_limits<T>::infinity();
  HWY_INLINE VecOf<T> operator()(VecOf<T> x, VecOf<T> y) const { return Maximum(x, y); }
  HWY_INLINE VecOf<T> OfUnequal(VecOf<T> x, VecOf<T> y) const { return hn::Max(x, y); }
  HWY_INLINE T OfUnequalLanes(VecOf<T> v) const { return hn::GetLane(hn::MaxOfLanes(TagOf<T>(), v)); }
};
template <class T>
struct Smallest {
  using Number = T;
  static constexpr T kLeast = std::numeric_limits<T>::infinity();
  HWY_INLINE VecOf<T> operator()(VecOf<T> x, VecOf<T> y) const { return Minimum(x, y); }
  HWY_INLINE VecOf<T> OfUnequal(VecOf<T> x, VecOf<T> y) const { return hn::Min(x, y); }
  HWY_INLINE T OfUnequalLanes(VecOf<T> v) const { return hn::GetLane(hn::MinOfLanes(TagOf<T>(), v)); }
};

/// The reduction of n > 0 numbers by an instruction that targets define each in its way for NaN and for zeros: false where
/// there is NaN, or where the result is a zero.
template <class Pick, class T = typename Pick::Number>
bool ReduceUnequal(const T* x, int64_t n, T* result) {
  const TagOf<T> d;
  constexpr int kVecs = 4;
  VecElementOf<T> met[kVecs], sums[kVecs];  // a sum shows that there was NaN
#pragma GCC unroll 4
  for (int v = 0; v < kVecs; ++v) met[v] = sums[v] = LoadN(x, n, *x);
  const auto take = [&](int v, VecOf<T> numbers) HWY_ATTR {
    met[v] = Pick().OfUnequal(met[v], numbers);
    sums[v] = Add(sums[v], numbers);
  };
  int64_t i = kLanesOf<T>;
  for (; i + kVecs * kLanesOf<T> <= n; i += kVecs * kLanesOf<T>) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) take(v, LoadU(d, x + i + v * kLanesOf<T>));
  }
  for (; i < n; i += kLanesOf<T>) take(0, LoadN(x + i, n - i, *x));
  const VecOf<T> low = Pick().OfUnequal(met[0], met[1]), high = Pick().OfUnequal(met[2], met[3]);
  *result = Pick().OfUnequalLanes(Pick().OfUnequal(low, high));
  const VecOf<T> sum = Add(Add(sums[0], sums[1]), Add(sums[2], sums[3]));
  return hn::AllFalse(d, IsNaN(sum)) && *result != T{0};
}

/// The reduction of numbers as they come: vectors of what was met so far.
template <class Pick>
class Met {
  using T = typename Pick::Number;

 public:
  HWY_INLINE Met() {
    for (VecElementOf<T>& v : met_) v = Set(TagOf<T>(), Pick::kLeast);
  }
  HWY_INLINE void Take(const T* x, int64_t n) {
    const TagOf<T> d;
    constexpr int64_t kStep = kVecs * kLanesOf<T>;
    int64_t i = 0;
    if (n < kStep) {
      for (; i < n; i += kLanesOf<T>) met_[0] = Pick()(met_[0], LoadN(x + i, n - i, Pick::kLeast));
      return;
    }
    is_long_ = true;
    VecElementOf<T> met[kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) met[v] = met_[v];
    for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) met[v] = Pick()(met[v], LoadU(d, x + i + v * kLanesOf<T>));
    }
    for (; i < n; i += kLanesOf<T>) met[0] = Pick()(met[0], LoadN(x + i, n - i, Pick::kLeast));
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) met_[v] = met[v];
  }
  HWY_INLINE T Result() const {
    const TagOf<T> d;
    VecOf<T> all = met_[0];
    if (is_long_) {
      for (int v = 1; v < kVecs; ++v) all = Pick()(all, met_[v]);
    }
    HWY_ALIGN T lanes[2 * kLanesOf<T>];
    Store(all, d, lanes + kLanesOf<T>);
    for (int64_t half = kLanesOf<T> / 2; half >= 1; half /= 2) {
      Store(all, d, lanes);
      all = Pick()(all, LoadU(d, lanes + half));
    }
    return hn::GetLane(all);
  }

 private:
  static constexpr int kVecs = 8;
  VecElementOf<T> met_[kVecs];
  bool is_long_ = false;
};

/// Terms [begin, end) of the row that starts at `offset`.
template <class Pick, class T = typename Pick::Number>
T ReduceTerms(const AmaxArgs& args, int64_t offset, int64_t begin, int64_t end) {
  HWY_ALIGN T buffer[kPiece];
  Met<Pick> met;
  const int64_t inner = args.reduced.InnerSize(), stride = args.reduced.InnerStride();
  const bool in_place = args.dtype == kDTypeOf<T> && stride == 1;
  if (in_place && inner - begin % inner >= end - begin) {
    const T* const x = static_cast<const T*>(args.x) + offset + args.reduced.Offset(begin);
    if (T result; ReduceUnequal<Pick>(x, end - begin, &result)) return result;
  }
  const int64_t longest = in_place ? end - begin : kPiece;
  for (int64_t i = begin; i < end;) {
    const int64_t n = std::min({longest, end - i, inner - i % inner});
    met.Take(NumbersSideBySide(args.x, args.dtype, offset + args.reduced.Offset(i), stride, n, buffer), n);
    i += n;
  }
  return met.Result();
}

template <class Pick, class T = typename Pick::Number>
void ReduceRows(const AmaxArgs& args, T* out) {
  const int64_t rows = args.kept.Count(), n = args.reduced.Count();
  if (rows >= 4 * GetNumThreads() || n <= kGrain) {
    ParallelRanges(rows, kGrain / n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t r = begin; r < end; ++r) out[r] = ReduceTerms<Pick>(args, args.kept.Offset(r), 0, n);
    });
    return;
  }
  // Few long rows: their parts are what runs in parallel.
  const int64_t parts = (n + kGrain - 1) / kGrain;
  Scratch scratch;
  T* const values = scratch.Get<T>(parts);
  for (int64_t r = 0; r < rows; ++r) {
    ParallelRanges(parts, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t p = begin; p < end; ++p) {
        values[p] = ReduceTerms<Pick>(args, args.kept.Offset(r), p * kGrain, std::min(n, (p + 1) * kGrain));
      }
    });
    Met<Pick> met;
    met.Take(values, parts);
    out[r] = met.Result();
  }
}

/// Columns of n rows, which row_at(i, buffer) gives, by what each lane has met.
template <class Pick, class RowAt, class T = typename Pick::Number>
HWY_INLINE void ReduceStrip(int64_t n, int64_t cols, const RowAt& row_at, T* out) {
  const TagOf<T> d;
  constexpr int kRows = 4;
  HWY_ALIGN T buffers[kRows][kStrip];
  HWY_ALIGN T met[kStrip + kLanesOf<T>];
  std::fill_n(met, cols + kLanesOf<T>, Pick::kLeast);
  for (int64_t i = 0; i < n; i += kRows) {
    const T* rows[kRows];
    for (int r = 0; r < kRows; ++r)
      rows[r] = row_at(std::min(i + r, n - 1), buffers[r]);  // the last again changes nothing
    ForVectors<T>(cols, [&](int64_t j, int64_t count) HWY_ATTR {
      VecOf<T> largest = Load(d, met + j);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) largest = Pick()(largest, LoadN(rows[r] + j, count, Pick::kLeast));
      Store(largest, d, met + j);
    });
  }
  std::copy_n(met, cols, out);
}

template <class Pick, class T = typename Pick::Number>
void ReduceRowsAsColumns(const AmaxArgs& args, T* out) {
  const int64_t n = args.reduced.Count(), stride = args.reduced.InnerStride();
  const auto row_at = [&](int64_t r, T* buffer) HWY_ATTR {
    return NumbersSideBySide(args.x, args.dtype, args.kept.Offset(r), stride, n, buffer);
  };
  ForRowsAsColumns<T>(args.kept.Count(), n, row_at, [&](int64_t first, int64_t count, const T* columns) HWY_ATTR {
    ReduceStrip<Pick>(n, count, [&](int64_t i, T*) { return columns + i * kColumnStep; }, out + first);
  });
}

template <class Pick, class T = typename Pick::Number>
void ReduceColumns(const AmaxArgs& args, T* out) {
  const int64_t cols = args.kept.InnerSize(), n = args.reduced.Count();
  const int64_t outer = args.kept.Count() / cols;
  // Strips as wide as leaves each thread one.
  const int64_t share = cols * outer / GetNumThreads();
  const int64_t strip = std::clamp((share + 63) / 64 * 64, int64_t{64}, kStrip);
  const int64_t strips = (cols + strip - 1) / strip;
  ParallelRanges(outer * strips, kGrain / (n * std::min(cols, strip)) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t at = task / strips * cols + task % strips * strip, offset = args.kept.Offset(at);
      const int64_t count = std::min(strip, cols - task % strips * strip);
      const auto row_at = [&](int64_t i, T* buffer) HWY_ATTR {
        return NumbersSideBySide(args.x, args.dtype, offset + args.reduced.Offset(i), 1, count, buffer);
      };
      ReduceStrip<Pick>(n, count, row_at, out + at);
    }
  });
}

template <class Pick, class T = typename Pick::Number>
void Reduce(const AmaxArgs& args) {
  const int64_t outputs = args.kept.Count();
  const bool narrow = args.dtype != kDTypeOf<T>;
  Scratch scratch;
  T* const out = narrow ? scratch.Get<T>(outputs) : static_cast<T*>(args.out);
  const bool terms_side_by_side = args.reduced.InnerStride() == 1 && args.reduced.InnerSize() > 1;
  if (args.kept.InnerStride() == 1 && args.kept.InnerSize() >= 4 && !terms_side_by_side) {
    ReduceColumns<Pick>(args, out);
  } else if (args.reduced.shape.size() == 1 && AreRowsAsColumns<T>(outputs, args.reduced.Count())) {
    ReduceRowsAsColumns<Pick>(args, out);
  } else {
    ReduceRows<Pick>(args, out);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (narrow) NarrowTo(args.dtype, out, static_cast<uint16_t*>(args.out), outputs);
  }
}

}  // namespace

void AmaxKernel(const AmaxArgs& args) {
  DispatchReal(args.dtype, [&]<class T>() { args.smallest ? Reduce<Smallest<T>>(args) : Reduce<Largest<T>>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
