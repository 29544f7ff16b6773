// SPDX-License-Identifier: MIT
#include <cmath>
#include <type_traits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/reduce_cpu-inl.h"
#include "drivers/transpose_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/cdist/cdist_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "drivers/add_step.lane.h"
#include "ops/cdist/cdist.lane.h"

/// Differences that are worth a fork, and powers of them.
constexpr int64_t kGrain = 32768, kGrainOfPowers = 2048;
/// Rows of x1 that meet a panel of rows of x2 in one task.
constexpr int64_t kRows = 16;
/// Columns that are summed at a time, and numbers of a panel, unless one vector of columns has more.
constexpr int64_t kPanel = 128, kPanelSize = int64_t{1} << 18;

template <class T>
int64_t WholeVectors(int64_t n) {
  return (n + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>;
}

/// Columns that are worked on together, of n with `rows` numbers each: whole vectors.
template <class T>
int64_t PanelWidth(int64_t n, int64_t rows) {
  const int64_t fit = kPanelSize / std::max<int64_t>(rows, 1) / kLanesOf<T> * kLanesOf<T>;
  return std::min(std::clamp(fit, kLanesOf<T>, kPanel), WholeVectors<T>(n));
}

HWY_INLINE Vec PowerOf(Vec x, Vec y) { return Pow(x, y); }
HWY_INLINE VecOf<double> PowerOf(VecOf<double> x, VecOf<double> y) { return PowDouble()(TagOf<double>(), x, y); }

/// to[i] = from[i]^p
template <class T>
HWY_NOINLINE void Powers(const T* from, int64_t n, T p, T* to) {
  const VecElementOf<T> power = Set(TagOf<T>(), p);
  ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const VecOf<T> exponent = power;
    StoreN(PowerOf(LoadN(from + i, count), exponent), to + i, count);
  });
}

template <class T, class Size>
struct SizesOfRow {
  VecElementOf<T> x;
  const T* others;

  HWY_INLINE VecOf<T> operator()(int64_t j, int64_t /*count*/) const {
    const VecOf<T> from = x;
    return Size()(Sub(from, LoadU(TagOf<T>(), others + j)));  // there are whole vectors
  }
};

/// How terms of a maximum meet.
struct Larger {
  template <class V>
  HWY_INLINE V operator()(V x, V y) const {
    return Maximum(x, y);
  }
};

template <int kVecs, class T, class Meet, class RowAt>
HWY_INLINE int64_t MeetVectors(int64_t n, int64_t j, int64_t cols, const RowAt& row_at, T* out) {
  for (; j + (kVecs == 1 ? 1 : kVecs * kLanesOf<T>) <= cols; j += kVecs * kLanesOf<T>) {
    VecElementOf<T> met[kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) met[v] = Zero(TagOf<T>());
    for (int64_t i = 0; i < n; ++i) {
      const auto row = row_at(i);
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) {
        const VecOf<T> earlier = met[v];
        met[v] = Meet()(earlier, row(j + v * kLanesOf<T>, kVecs == 1 ? cols - j : kLanesOf<T>));
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) StoreN(met[v], out + j + v * kLanesOf<T>, kVecs == 1 ? cols - j : kLanesOf<T>);
  }
  return j;
}

/// Columns from left to right, from +0 on.
template <class T, class Meet, class RowAt>
HWY_INLINE void MeetInSequence(int64_t n, int64_t cols, const RowAt& row_at, T* out) {
  const int64_t j = MeetVectors<8, T, Meet>(n, 0, cols, row_at, out);
  MeetVectors<1, T, Meet>(n, j, cols, row_at, out);
}

/// A vector of columns of at most a chunk of rows, as SumColumnsOf, which small calls would wait for.
template <class T, class RowAt>
HWY_INLINE void SumOneVector(int64_t n, int64_t cols, const RowAt& row_at, T* out) {
  const ColumnFold<T, 1, RowAt> fold{n, cols, row_at};
  VecElementOf<T> sum[kGroups];
  for (int64_t lane = 0; lane < kGroups; ++lane) {
    sum[lane] = Zero(TagOf<T>());
    if (lane < n) fold.template Sum<kGroups>(lane, 0, sum + lane);
  }
#pragma GCC unroll 8
  for (int64_t h = kGroups / 2; h >= 1; h /= 2) {
#pragma GCC unroll 8
    for (int64_t lane = 0; lane < h; ++lane) sum[lane] = Add(sum[lane], sum[lane + h]);
  }
  // The lanes began with their first term instead of +0 plus it: only a sum of nothing but -0 shows that.
  StoreN(Add(sum[0], Zero(TagOf<T>())), out, cols);
}

template <class T, class RowAt>
HWY_INLINE void SumInOrder(int64_t n, int64_t cols, Order order, const RowAt& row_at, T* out) {
  if (order == Order::kSequential) return MeetInSequence<T, AddStep>(n, cols, row_at, out);
  if (cols <= kLanesOf<T> && n <= kSumChunk) return SumOneVector<T>(n, cols, row_at, out);
  SumColumnsOf(n, cols, row_at, out);
}

/// Rows of k numbers become columns of a panel; what follows the last of them is +0.
template <class T>
void Pack(const T* rows, int64_t num_rows, int64_t k, int64_t width, T* panel) {
  constexpr int64_t kStep = kLanesOf<T>;
  for (int64_t c = 0; c < width; c += kStep) {
    for (int64_t i = 0; i < k; i += kStep) {
#if HWY_TARGET != HWY_SCALAR
      if (c + kStep <= num_rows && i + kStep <= k) {
        const TagOf<T> d;
        VecElementOf<T> square[kStep];
#pragma GCC unroll 16
        for (int64_t r = 0; r < kStep; ++r) square[r] = LoadU(d, rows + (c + r) * k + i);
        TransposeSquare<T>(square);
#pragma GCC unroll 16
        for (int64_t r = 0; r < kStep; ++r) Store(square[r], d, panel + (i + r) * width + c);
        continue;
      }
#endif
      for (int64_t r = i; r < std::min(i + kStep, k); ++r) {
        for (int64_t q = c; q < c + kStep; ++q) panel[r * width + q] = q < num_rows ? rows[q * k + r] : 0;
      }
    }
  }
}

/// The distances of a row of k numbers from columns of a panel.
template <class T>
class Distances {
 public:
  Distances(const CdistArgs<T>& args, int64_t width, Scratch& scratch)
      : args_(args),
        width_(width),
        sizes_(Kind() == kAny || Kind() == kZero ? scratch.Get<T>(args.k * width) : nullptr) {}

  HWY_INLINE void operator()(const T* x, const T* others, int64_t cols, T* out) const {
    switch (Kind()) {
      case kZero: return OfStored<Zeroth>(x, others, cols, out);
      case kOne: return Sum<First>(x, others, cols, out);
      case kTwo:
        Sum<Second>(x, others, cols, out);
        return ForVectors<T>(
            cols, [&](int64_t j, int64_t count) HWY_ATTR { StoreN(Sqrt(LoadN(out + j, count)), out + j, count); });
      case kInfinite: return MeetInSequence<T, Larger>(args_.k, cols, RowAt<First>(x, others), out);
      case kAny: return OfStored<First>(x, others, cols, out);
    }
  }

 private:
  enum Norm { kZero, kOne, kTwo, kInfinite, kAny };

  Norm Kind() const {
    return args_.p == 0 ? kZero : args_.p == 1 ? kOne : args_.p == 2 ? kTwo : std::isinf(args_.p) ? kInfinite : kAny;
  }

  template <class Size>
  HWY_INLINE auto RowAt(const T* x, const T* others) const {
    const int64_t width = width_;
    return [x, others, width](int64_t i)
               HWY_ATTR { return SizesOfRow<T, Size>{Set(TagOf<T>(), x[i]), others + i * width}; };
  }

  template <class Size>
  HWY_NOINLINE void Sum(const T* x, const T* others, int64_t cols, T* out) const {
    SumInOrder<T>(args_.k, cols, args_.order, RowAt<Size>(x, others), out);
  }

  /// Of the rare norms: the sizes of all differences, or their powers, then the sums.
  template <class Size>
  HWY_INLINE void OfStored(const T* x, const T* others, int64_t cols, T* out) const {
    const auto sizes = RowAt<Size>(x, others);
    for (int64_t i = 0; i < args_.k; ++i) {
      T* const row = sizes_ + i * width_;
      ForVectors<T>(cols, [&](int64_t j, int64_t count) HWY_ATTR { StoreN(sizes(i)(j, count), row + j, count); });
      if (Kind() == kAny) Powers(row, cols, static_cast<T>(args_.p), row);
    }
    SumStored(cols, out);
    if (Kind() == kAny) Powers(out, cols, static_cast<T>(1 / args_.p), out);
  }

  HWY_NOINLINE void SumStored(int64_t cols, T* out) const {
    SumInOrder<T>(
        args_.k, cols, args_.order, [&](int64_t i) HWY_ATTR { return StoredRow<T>{sizes_ + i * width_}; }, out);
  }

  const CdistArgs<T>& args_;
  int64_t width_;
  T* sizes_;
};

template <class T>
bool TakesPowers(const CdistArgs<T>& args) {
  return !(args.p == 0 || args.p == 1 || args.p == 2 || std::isinf(args.p));
}

template <class T>
void Cdist(const CdistArgs<T>& args) {
  const int64_t width = PanelWidth<T>(args.n, args.k);
  const int64_t panels = (args.n + width - 1) / width, blocks = (args.m + kRows - 1) / kRows;
  const int64_t grain = (TakesPowers(args) ? kGrainOfPowers : kGrain) / (kRows * width * std::max<int64_t>(args.k, 1));
  ParallelRanges(args.batch * panels * blocks, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const panel = scratch.Get<T>(args.k * width);
    T* const found = scratch.Get<T>(width);
    const Distances<T> distances(args, width, scratch);
    int64_t packed = -1;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b = task / blocks / panels, c = task / blocks % panels * width, r = task % blocks * kRows;
      const int64_t cols = std::min(width, args.n - c);
      if (args.pairs && r + 1 >= c + cols) continue;
      if (packed != task / blocks) {
        Pack(args.x2 + b * args.x2_step + c * args.k, cols, args.k, width, panel);
        packed = task / blocks;
      }
      for (int64_t i = r; i < std::min(r + kRows, args.m); ++i) {
        const int64_t first = args.pairs ? std::max<int64_t>(i + 1 - c, 0) : 0;
        if (first >= cols) break;
        T* const out = args.output + (args.pairs ? args.Pairs(i) : b * args.m * args.n + i * args.row_stride);
        distances(args.x1 + b * args.x1_step + i * args.k, panel + first, cols - first, found);
        for (int64_t j = first; j < cols; ++j) out[(c + j) * (args.pairs ? 1 : args.col_stride)] = found[j - first];
      }
    }
  });
}

/// The terms of one row of x2: slope times gradient.
template <class T, class Slope>
struct SlopesOfRow {
  VecElementOf<T> distance, grad;
  const T *x, *other;

  HWY_INLINE VecOf<T> operator()(int64_t j, int64_t count) const {
    const VecOf<T> at = distance, by = grad;
    return Mul(Slope()(Sub(LoadN(x + j, count), LoadN(other + j, count)), at), by);
  }
};

/// The gradient by one row of x1.
template <class T>
struct GradOfRow {
  const CdistArgs<T>& args;
  const T* x;
  const T* x2;
  int64_t row;  // of pairs, else -1
  int64_t n;    // distances
  const T *distance, *grad;
  const T* powers;  // of the distances, where they are needed
  T* terms;         // room for n rows of a panel, for SumStored

  /// The row of x2 that a distance is from: of pairs those behind first.
  HWY_INLINE const T* Other(int64_t t) const {
    const int64_t other = row + 1 + t;
    return x2 + (row < 0 ? t : other < args.n ? other : other - args.n) * args.k;
  }

  template <class Slope>
  HWY_NOINLINE void Sum(int64_t c, int64_t cols, T* out) const {
    const TagOf<T> d;
    SumInOrder<T>(
        n, cols, args.order,
        [&](int64_t t)
            HWY_ATTR { return SlopesOfRow<T, Slope>{Set(d, distance[t]), Set(d, grad[t]), x + c, Other(t) + c}; },
        out);
  }

  template <class Slope>
  HWY_NOINLINE void Store(int64_t t, int64_t c, int64_t cols, T* to) const {
    const TagOf<T> d;
    const SlopesOfRow<T, Slope> slopes{Set(d, distance[t]), Set(d, grad[t]), x + c, Other(t) + c};
    ForVectors<T>(cols, [&](int64_t j, int64_t count) HWY_ATTR { StoreN(slopes(j, count), to + j, count); });
  }

  HWY_NOINLINE void StoreOfPowers(int64_t t, int64_t c, int64_t cols, T* to) const {
    const TagOf<T> d;
    const T* const other = Other(t) + c;
    ForVectors<T>(cols, [&](int64_t j, int64_t count) HWY_ATTR {
      StoreN(Abs(Sub(LoadN(x + c + j, count), LoadN(other + j, count))), to + j, count);
    });
    Powers(to, cols, static_cast<T>(args.p - 1), to);
    ForVectors<T>(cols, [&](int64_t j, int64_t count) HWY_ATTR {
      const VecOf<T> difference = Sub(LoadN(x + c + j, count), LoadN(other + j, count));
      const VecOf<T> slope = SlopeOfPowers(difference, LoadN(to + j, count), Set(d, distance[t]), Set(d, powers[t]));
      StoreN(Mul(slope, Set(d, grad[t])), to + j, count);
    });
  }

  /// Of the rare norms: the terms, then their sums.
  HWY_NOINLINE void SumStored(int64_t c, int64_t cols, T* out) const {
    const int64_t width = WholeVectors<T>(cols);
    for (int64_t t = 0; t < n; ++t) {
      T* const to = terms + t * width;
      if (args.p == 0) {
        Store<NoSlope>(t, c, cols, to);
      } else if (std::isinf(args.p)) {
        Store<SignOfLargest>(t, c, cols, to);
      } else {
        StoreOfPowers(t, c, cols, to);
      }
    }
    SumInOrder<T>(n, cols, args.order, [&](int64_t t) HWY_ATTR { return StoredRow<T>{terms + t * width}; }, out);
  }

  HWY_INLINE void operator()(int64_t c, int64_t cols, T* out) const {
    if (args.p == 1) return Sum<Sign>(c, cols, out);
    if (args.p == 2) return Sum<Quotient>(c, cols, out);
    SumStored(c, cols, out);
  }
};

/// The gradient where rows have so few numbers that vectors run over the distances instead.
template <class T, class Slope>
HWY_NOINLINE void GradOfFewColumns(const CdistArgs<T>& args) {
  const int64_t n = args.n, k = args.k, width = WholeVectors<T>(n);
  ParallelRanges(args.batch * args.m, kGrain / std::max<int64_t>(n * k, 1), [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const columns = scratch.Get<T>(k * width);
    int64_t packed = -1;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t b = row / args.m;
      if (packed != b) Pack(args.x2 + b * args.x2_step, n, k, width, columns);
      packed = b;
      const T* const x = args.x1 + b * args.x1_step + row % args.m * k;
      const T* const distance = args.distance + row * n;
      const T* const grad = args.grad_output + row * n;
      for (int64_t c = 0; c < k; ++c) {
        const VecElementOf<T> at = Set(TagOf<T>(), x[c]);
        const T* const others = columns + c * width;
        args.grad[row * k + c] = SumOf<T>(n, args.order, [&](int64_t j, int64_t count) HWY_ATTR {
          const VecOf<T> from = at;
          const VecOf<T> slope = Slope()(Sub(from, LoadN(others + j, count)), LoadN(distance + j, count));
          return Mul(slope, LoadN(grad + j, count));
        });
      }
    }
  });
}

template <class T>
void CdistGrad(const CdistArgs<T>& args) {
  const bool takes_powers = TakesPowers(args), stores_terms = args.p != 1 && args.p != 2;
  if constexpr (kLanesOf<T> > 1) {
    if (!args.pairs && !takes_powers && args.p != 0 && 2 * args.k <= kLanesOf<T>) {
      if (args.p == 1) return GradOfFewColumns<T, Sign>(args);
      if (args.p == 2) return GradOfFewColumns<T, Quotient>(args);
      return GradOfFewColumns<T, SignOfLargest>(args);
    }
  }
  const int64_t n = args.pairs ? args.n - 1 : args.n;
  const int64_t width = PanelWidth<T>(args.k, stores_terms ? n : 1);
  const int64_t grain = (takes_powers ? kGrainOfPowers : kGrain) / std::max<int64_t>(n * args.k, 1);
  ParallelRanges(args.batch * args.m, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const of_pairs = args.pairs ? scratch.Get<T>(2 * n) : nullptr;
    T* const powers = takes_powers ? scratch.Get<T>(n) : nullptr;
    T* const terms = stores_terms ? scratch.Get<T>(n * width) : nullptr;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t b = row / args.m, i = row % args.m;
      const T* distance = args.distance + row * n;
      const T* grad = args.grad_output + row * n;
      if (args.pairs) {
        for (int64_t t = 0; t < n; ++t) {
          const int64_t other = i + 1 + t < args.n ? i + 1 + t : i + 1 + t - args.n;
          const int64_t at = other > i ? args.Pairs(i) + other : args.Pairs(other) + i;
          of_pairs[t] = args.distance[at], of_pairs[n + t] = args.grad_output[at];
        }
        distance = of_pairs, grad = of_pairs + n;
      }
      if (takes_powers) Powers(distance, n, static_cast<T>(args.p - 1), powers);
      const GradOfRow<T> of_row{args,
                                args.x1 + b * args.x1_step + i * args.k,
                                args.x2 + b * args.x2_step,
                                args.pairs ? i : -1,
                                n,
                                distance,
                                grad,
                                powers,
                                terms};
      for (int64_t c = 0; c < args.k; c += width) {
        of_row(c, std::min(width, args.k - c), args.grad + row * args.k + c);
      }
    }
  });
}

}  // namespace

void CdistKernel(const CdistArgs<float>& args) { Cdist(args); }
void CdistKernel(const CdistArgs<double>& args) { Cdist(args); }
void CdistGradKernel(const CdistArgs<float>& args) { CdistGrad(args); }
void CdistGradKernel(const CdistArgs<double>& args) { CdistGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
