// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "drivers/spectral_cpu-inl.h"
#include "ops/eigh/eigh_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/eigh/eigh.lane.h"

/// The diagonals d and e of Qᴴ A Q, where row i of `a` is column i of A.
template <class Matrix>
struct Tridiagonal {
  using Row = RowOf<Matrix>;
  using Wide = WideOf<NumberOf<Matrix>>;

  int64_t n;
  Matrix a;
  Matrix vectors;  // the reflections: number k of reflection k stands for place k + 1
  Row tau;
  double *d, *e;
  Row y, v, w;  // n numbers each

  void Run() const {
    Clear(v, 0);
    Clear(w, 0);
    for (int64_t k = 0; k < n; ++k) {
      // v and w are those of the step before, which the rows from k on still lack.
      UpdateRow(k, k);
      d[k] = RealPart(a[k][k]);
      if (k + 1 == n) return;
      const Row next = vectors[k] + k;
      e[k] = MakeReflection(a[k] + (k + 1), n - k - 1, next, tau + k);
      Clear(y, k + 1);
      constexpr int64_t kVec = kLanesOf<double>;
      const int64_t behind = n - k - 1;
      ParallelRanges((behind + kVec - 1) / kVec, 50000 / (behind * kVec + 1) + 1, [&](int64_t begin, int64_t end) {
        Update(k, k + 1 + begin * kVec, std::min(n, k + 1 + end * kVec), next);
      });
      SetV(next, k);
      SetW(k);
    }
  }

 private:
  void Clear(double* x, int64_t begin) const { std::fill(x + begin, x + n, 0.0); }
  void Clear(const PairRow& x, int64_t begin) const { Clear(x.re, begin), Clear(x.im, begin); }

  void UpdateRow(int64_t i, int64_t begin) const {
    const Wide vi = Wide::Of(Negated(Conjugate(v[i]))), wi = Wide::Of(Negated(Conjugate(w[i])));
    ForVectors<double>(n - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t j = begin + at;
      const Row place = a[i] + j;
      const Wide once = vi.PlusProduct(Wide::FromRow(w + j, count), Wide::FromRow(place, count));
      wi.PlusProduct(Wide::FromRow(v + j, count), once).ToRow(place, count);
    });
  }

  /// Columns [begin, end) of the rows behind k, and their y by the vector `next`, whose first number is that of k + 1.
  void Update(int64_t k, int64_t begin, int64_t end, const Row& next) const {
    constexpr int kTogether = Wide::kCount;  // as many as there are registers for
    int64_t i = k + 1;
    for (; i + kTogether <= n; i += kTogether) UpdateRows<kTogether>(i, begin, end, next + (i - k - 1));
    for (; i < n; ++i) UpdateRows<1>(i, begin, end, next + (i - k - 1));
  }

  template <int kRows>
  HWY_INLINE void UpdateRows(int64_t first, int64_t begin, int64_t end, const Row& next) const {
    Wide vi[kRows], wi[kRows], times[kRows];
    for (int r = 0; r < kRows; ++r) {
      vi[r] = Wide::Of(Negated(Conjugate(v[first + r])));
      wi[r] = Wide::Of(Negated(Conjugate(w[first + r])));
      times[r] = Wide::Of(next[r]);
    }
    ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t j = begin + at;
      const Wide vj = Wide::FromRow(v + j, count), wj = Wide::FromRow(w + j, count);
      Wide sum = Wide::FromRow(y + j, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Row place = a[first + r] + j;
        const Wide twice = wi[r].PlusProduct(vj, vi[r].PlusProduct(wj, Wide::FromRow(place, count)));
        twice.ToRow(place, count);
        sum = times[r].PlusProduct(twice, sum);
      }
      sum.ToRow(y + j, count);
    });
  }

  void SetV(const Row& next, int64_t k) const { CopyNumbers(next, n - k - 1, v + (k + 1)); }

  void SetW(int64_t k) const {
    const auto factor = tau[k];
    double g = 0;
    for (int64_t j = k + 1; j < n; ++j) g = TakeIn(g, y[j], v[j], factor);
    const double h = ShareOf(factor, g);
    for (int64_t j = k + 1; j < n; ++j) PutNumber(w, j, WithoutShare(Times(factor, y[j]), h, v[j]));
  }
};

/// The triangles of A that the kernel is given become all of its transpose.
void Mirror(const Rows& a, int64_t n, bool /*upper*/) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) a[i][j] = a[j][i];
  }
}
/// The lower triangle has that of A, or if upper that of its transpose.
void Mirror(const PairRows& a, int64_t n, bool upper) {
  for (int64_t i = 0; i < n; ++i) {
    a[i].im[i] = 0;
    for (int64_t j = i + 1; j < n; ++j) {
      const Complex x = a[j][i];
      a[i].Put(j, upper ? Conjugate(x) : x);
      if (!upper) a[j].Put(i, Conjugate(x));
    }
  }
}

/// Gives a vector its sign.
void Finish(double* x, int64_t n) {
  const double sign = SignOfLargest(x, n);
  for (int64_t i = 0; i < n; ++i) x[i] = TimesWithoutSign(x[i], sign);
}
/// Gives a vector, of which x is the conjugate, its phase.
void Finish(const PairRow& x, int64_t n) {
  const Phase phase = Phase::Of(x, n);
  for (int64_t i = 0; i < n; ++i) x.Put(i, TimesWithoutSign(x[i], phase.p));
  x.Put(phase.place, {phase.size, 0.0});
  for (int64_t i = 0; i < n; ++i) x.im[i] = 0.0 - x.im[i];
}

/// Values and, if `vectors` has memory, vectors of the matrix in `a`, which changes. A row of `vectors` is one.
template <class Matrix>
int64_t Solve(const Matrix& a, int64_t n, bool upper, double* values, const Matrix& vectors) {
  constexpr int64_t kParts = kPartsOf<Matrix>;
  Scratch scratch;
  Mirror(a, n, upper);
  const Rows parts = PartsOf(a);
  const Scale scale = ScaleOf(parts, kParts * n, n);
  if (!scale.finite) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(values, n, kNaN);
    for (int64_t i = 0; i < kParts * n && vectors.data != nullptr; ++i) std::fill_n(PartsOf(vectors)[i], n, kNaN);
    return -1;
  }
  Divide(parts, kParts * n, n, scale);
  double* const numbers = scratch.Get<double>(2 * n);
  double *const d = numbers, *const e = numbers + n;
  const Matrix reflections = NewRowsOf<Matrix>(scratch, n, n), rows_of_n = NewRowsOf<Matrix>(scratch, 4, n);
  const auto tau = rows_of_n[0];
  Tridiagonal<Matrix>{n, a, reflections, tau, d, e, rows_of_n[1], rows_of_n[2], rows_of_n[3]}.Run();
  auto* const order = scratch.Get<int64_t>(n);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  const auto sort = [&] {
    std::sort(order, order + n, [&](int64_t x, int64_t y) { return d[x] < d[y] || (d[x] == d[y] && x < y); });
    for (int64_t i = 0; i < n; ++i) values[i] = scale.Times(d[order[i]]) + 0.0;
  };
  Search search = Search::Of(n, d, e);
  if (vectors.data == nullptr) {
    Rotations none{};
    Diagonalize(search, none);
    sort();
    return search.info;
  }
  const auto rows = LanewiseOf<Matrix>::Identity(scratch, n);
  rows.ReflectAll(reflections, tau, n - (kParts == 1 ? 2 : 1), 1);
  Rotations rotations = NewRotations(scratch, n);
  for (bool done = false; !done; rotations.Clear()) {
    done = Diagonalize(search, rotations);
    rows.Rotate(rotations);
  }
  sort();
  for (int64_t i = 0; i < n; ++i) {
    rows.Column(order[i], vectors[i]);
    Finish(vectors[i], n);
  }
  return search.info;
}

template <class Matrix>
void Run(const EighArgs& args) {
  const int64_t n = args.n;
  ForMatrices(args.batch, 10 * n * n * n, [&](int64_t matrix) {
    if (n == 0) {
      args.info[matrix] = 0;
      return;
    }
    Scratch scratch;
    const auto a = NewRowsOf<Matrix>(scratch, n, n);
    LoadRows(args.input, matrix, n, n, a);
    double* const values = scratch.Get<double>(n);
    const Matrix vectors = args.vectors == nullptr ? Matrix{} : NewRowsOf<Matrix>(scratch, n, n);
    args.info[matrix] = Solve(a, n, args.upper, values, vectors);
    StoreRows(Rows{values, n}, 1, n, args.input.dtype, args.values, matrix * n);
    if (args.vectors != nullptr) StoreRows(vectors, n, n, args.input.dtype, args.vectors, matrix * n * n);
  });
}

}  // namespace

void EighKernel(const EighArgs& args) { args.pairs ? Run<PairRows>(args) : Run<Rows>(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
