// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "drivers/spectral_cpu-inl.h"
#include "ops/eigh/eigh_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// The diagonals d and e of Q' A Q.
struct Tridiagonal {
  int64_t n;
  Rows a;
  Rows vectors;  // the reflections: number k of reflection k stands for place k + 1
  double* tau;
  double *d, *e;
  double *y, *v, *w;  // n numbers each

  void Run() const {
    std::fill_n(v, n, 0.0);
    std::fill_n(w, n, 0.0);
    for (int64_t k = 0; k < n; ++k) {
      // v and w are those of the step before, which the rows from k on still lack.
      UpdateRow(k, k);
      d[k] = a[k][k];
      if (k + 1 == n) return;
      double* const next = vectors[k] + k;
      e[k] = MakeReflection(a[k] + k + 1, n - k - 1, next, &tau[k]);
      std::fill(y + k + 1, y + n, 0.0);
      constexpr int64_t kVec = kLanesOf<double>;
      const int64_t behind = n - k - 1;
      ParallelRanges((behind + kVec - 1) / kVec, 50000 / (behind * kVec + 1) + 1, [&](int64_t begin, int64_t end) {
        Update(k, k + 1 + begin * kVec, std::min(n, k + 1 + end * kVec), next);
      });
      std::copy_n(next, behind, v + k + 1);
      SetW(k);
    }
  }

 private:
  void UpdateRow(int64_t i, int64_t begin) const {
    const TagOf<double> tag;
    const VecOf<double> vi = Set(tag, -v[i]), wi = Set(tag, -w[i]);
    ForVectors<double>(n - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t j = begin + at;
      const VecOf<double> once = Fma(vi, LoadN(w + j, count), LoadN(a[i] + j, count));
      StoreN<double>(Fma(wi, LoadN(v + j, count), once), a[i] + j, count);
    });
  }

  /// Columns [begin, end) of the rows behind k, and their y by the vector `next`, whose first number is that of k + 1.
  void Update(int64_t k, int64_t begin, int64_t end, const double* next) const {
    int64_t i = k + 1;
    for (; i + 4 <= n; i += 4) UpdateRows<4>(i, begin, end, next + (i - k - 1));
    for (; i < n; ++i) UpdateRows<1>(i, begin, end, next + (i - k - 1));
  }

  template <int kRows>
  HWY_INLINE void UpdateRows(int64_t first, int64_t begin, int64_t end, const double* next) const {
    const TagOf<double> tag;
    Lanes vi[kRows], wi[kRows], times[kRows];
    for (int r = 0; r < kRows; ++r) {
      vi[r] = Set(tag, -v[first + r]);
      wi[r] = Set(tag, -w[first + r]);
      times[r] = Set(tag, next[r]);
    }
    ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t j = begin + at;
      const VecOf<double> vj = LoadN(v + j, count), wj = LoadN(w + j, count);
      VecOf<double> sum = LoadN(y + j, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        double* const place = a[first + r] + j;
        const VecOf<double> once = Fma<VecOf<double>>(vi[r], wj, LoadN(place, count));
        const VecOf<double> twice = Fma<VecOf<double>>(wi[r], vj, once);
        StoreN<double>(twice, place, count);
        sum = Fma<VecOf<double>>(times[r], twice, sum);
      }
      StoreN<double>(sum, y + j, count);
    });
  }

  void SetW(int64_t k) const {
    const TagOf<double> tag;
    VecOf<double> sum = Zero(tag);
    for (int64_t j = k + 1; j < n; ++j) {
      w[j] = tau[k] * y[j];
      sum = Fma(Set(tag, w[j]), Set(tag, v[j]), sum);
    }
    SubtractRow(tau[k] * 0.5 * hn::GetLane(sum), v, w, k + 1, n);
  }
};

/// Sweeps until e is 0; rotate(rotations) takes those that it is given, which wait until they are many.
template <class Rotate>
int64_t Diagonalize(int64_t n, double* d, double* e, Rotations* rotations, const Rotate& rotate) {
  const double least = LeastOf(n, d, e);
  int64_t sweeps = 0;
  for (int64_t m = n - 1; m > 0;) {
    const int64_t l = BeginOfBlock(d, e, m, least);
    if (l == m) {
      --m;
      continue;
    }
    if (++sweeps > kMaxSweeps * n) return 1;
    if (rotations != nullptr) {
      if (!rotations->HasRoomFor(m - l)) rotate();
      rotations->Begin(l, m - l);
    }
    double g = (d[m - 1] - d[m]) / (2.0 * e[m - 1]);
    const double size = RootOf(g * g + 1.0);
    g = (d[l] - d[m]) + e[m - 1] / (g + (g < 0 ? -size : size));
    double c = 1, s = 1, p = 0;
    for (int64_t i = l; i < m; ++i) {
      const double f = s * e[i], b = c * e[i];
      const Rotation rotation = Rotation::Of(g, f);
      c = rotation.c, s = rotation.s;
      if (i > l) e[i - 1] = rotation.r;
      g = d[i] - p;
      const double r = (d[i + 1] - g) * s + 2.0 * (c * b);
      p = s * r;
      d[i] = g + p;
      g = c * r - b;
      if (rotations != nullptr) rotations->Add(rotation);
    }
    d[m] = d[m] - p;
    e[m - 1] = g;
  }
  return 0;
}

/// Values and, if `vectors` has memory, vectors of the matrix in `a`, which changes. A row of `vectors` is one.
int64_t Solve(const Rows& a, int64_t n, double* values, const Rows& vectors) {
  Scratch scratch;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) a[i][j] = a[j][i];
  }
  const Scale scale = Scale::Of(a, n, n);
  if (!scale.finite) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(values, n, kNaN);
    for (int64_t i = 0; i < n && vectors.data != nullptr; ++i) std::fill_n(vectors[i], n, kNaN);
    return -1;
  }
  scale.Divide(a, n, n);
  double* const numbers = scratch.Get<double>(6 * n);
  double *const d = numbers, *const e = numbers + n, *const tau = numbers + 2 * n;
  const Rows reflections = NewRows(scratch, n, n);
  Tridiagonal{n, a, reflections, tau, d, e, numbers + 3 * n, numbers + 4 * n, numbers + 5 * n}.Run();
  auto* const order = scratch.Get<int64_t>(n);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  const auto sort = [&] {
    std::sort(order, order + n, [&](int64_t x, int64_t y) { return d[x] < d[y] || (d[x] == d[y] && x < y); });
    for (int64_t i = 0; i < n; ++i) values[i] = scale.Times(d[order[i]]) + 0.0;
  };
  if (vectors.data == nullptr) {
    const int64_t info = Diagonalize(n, d, e, nullptr, [] {});
    sort();
    return info;
  }
  const Lanewise rows = Lanewise::Identity(scratch, n);
  rows.ReflectAll(reflections, tau, n - 2, 1);
  Rotations rotations = Rotations::New(scratch, n);
  const auto rotate = [&] {
    rows.Rotate(rotations);
    rotations.Clear();
  };
  const int64_t info = Diagonalize(n, d, e, &rotations, rotate);
  rotate();
  sort();
  for (int64_t i = 0; i < n; ++i) {
    rows.Column(order[i], vectors[i]);
    Times(SignOfLargest(vectors[i], n), vectors[i], n);
  }
  return info;
}

}  // namespace

void EighKernel(const EighArgs& args) {
  const int64_t n = args.n;
  ForMatrices(args.batch, 10 * n * n * n, [&](int64_t matrix) {
    if (n == 0) {
      args.info[matrix] = 0;
      return;
    }
    Scratch scratch;
    const Rows a = NewRows(scratch, n, n);
    LoadRows(args.input, matrix, n, n, a);
    double* const values = scratch.Get<double>(n);
    const Rows vectors = args.vectors == nullptr ? Rows{nullptr, 0} : NewRows(scratch, n, n);
    args.info[matrix] = Solve(a, n, values, vectors);
    StoreRows({values, n}, 1, n, args.input.dtype, args.values, matrix * n);
    if (args.vectors != nullptr) StoreRows(vectors, n, n, args.input.dtype, args.vectors, matrix * n * n);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
