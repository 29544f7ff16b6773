// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "drivers/spectral_cpu-inl.h"
#include "ops/svd/svd_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

constexpr int64_t kVec = kLanesOf<double>;

/// The diagonals d and e of U' A V, n x n.
struct Bidiagonal {
  int64_t n;
  Rows a;
  Rows left, right;  // the reflections: number k of reflection k of `right` stands for place k + 1
  double *tau_left, *tau_right;
  double *d, *e;
  double *column, *t;  // n numbers each

  void Run() const {
    for (int64_t i = 0; i < n; ++i) column[i] = a[i][0];
    for (int64_t k = 0; k < n; ++k) {
      const double* const v = left[k];
      d[k] = MakeReflection(column + k, n - k, left[k] + k, &tau_left[k]);
      const int64_t behind = n - k - 1;
      if (behind == 0) return;
      ParallelRanges((behind + kVec - 1) / kVec, 50000 / (behind * kVec + 1) + 1, [&](int64_t begin, int64_t end) {
        SetT(k, k + 1 + begin * kVec, std::min(n, k + 1 + end * kVec));
      });
      double* const u = right[k] + k;
      e[k] = MakeReflection(a[k] + k + 1, behind, u, &tau_right[k]);
      ParallelRanges(behind, 50000 / (3 * behind + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = k + 1 + begin; i < k + 1 + end; ++i) {
          double* const row = a[i] + k + 1;
          const double inner = SubtractAndInner(v[i], t + k + 1, u, row, behind);
          SubtractRow(tau_right[k] * inner, u, row, 0, behind);
          column[i] = row[0];
        }
      });
    }
  }

 private:
  /// t of columns [begin, end), and row k without it.
  void SetT(int64_t k, int64_t begin, int64_t end) const {
    std::copy(a[k] + begin, a[k] + end, t + begin);
    int64_t i = k + 1;
    for (; i + 4 <= n; i += 4) AddRows<4>(k, i, begin, end);
    for (; i < n; ++i) AddRows<1>(k, i, begin, end);
    const TagOf<double> tag;
    const VecOf<double> tau = Set(tag, tau_left[k]);
    ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const VecOf<double> value = Mul(tau, LoadN(t + begin + at, count));
      StoreN<double>(value, t + begin + at, count);
      StoreN<double>(Sub(LoadN(a[k] + begin + at, count), value), a[k] + begin + at, count);
    });
  }

  template <int kRows>
  HWY_INLINE void AddRows(int64_t k, int64_t first, int64_t begin, int64_t end) const {
    const TagOf<double> tag;
    Lanes times[kRows];
    for (int r = 0; r < kRows; ++r) times[r] = Set(tag, left[k][first + r]);
    ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t j = begin + at;
      VecOf<double> sum = LoadN(t + j, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum = Fma<VecOf<double>>(times[r], LoadN(a[first + r] + j, count), sum);
      StoreN<double>(sum, t + j, count);
    });
  }
};

/// The first rotation's f of a sweep over [l, m]; numbers of d up to `least` become 0.
double Begin(const double* e, int64_t l, int64_t m, double least, double* d) {
  bool singular = false;
  for (int64_t i = l; i <= m; ++i) {
    if (__builtin_fabs(d[i]) <= least) d[i] = 0, singular = true;
  }
  if (singular) return d[l];
  const double a = __builtin_fabs(d[m - 1]), b = __builtin_fabs(d[m]), off = e[m - 1];
  const double x = RootOf((a + b) * (a + b) + off * off), y = RootOf((a - b) * (a - b) + off * off);
  const double shift = (a * b) / ((x + y) * 0.5);
  if (shift == 0) return d[l];
  return (__builtin_fabs(d[l]) - shift) * ((d[l] < 0 ? -1.0 : 1.0) + shift / d[l]);
}

/// Sweeps until e is 0; rotate() takes the rotations that wait.
template <class Rotate>
int64_t Diagonalize(int64_t n, double* d, double* e, Rotations* of_u, Rotations* of_v, const Rotate& rotate) {
  const double least = LeastOf(n, d, e);
  int64_t sweeps = 0;
  for (int64_t m = n - 1; m > 0;) {
    const int64_t l = BeginOfBlock(d, e, m, least);
    if (l == m) {
      --m;
      continue;
    }
    if (++sweeps > kMaxSweeps * n) return 1;
    if (of_u != nullptr) {
      if (!of_u->HasRoomFor(m - l)) rotate();
      of_u->Begin(l, m - l);
      of_v->Begin(l, m - l);
    }
    double f = Begin(e, l, m, least, d), g = e[l];
    for (int64_t i = l; i < m; ++i) {
      const Rotation v = Rotation::Of(f, g);
      if (i > l) e[i - 1] = v.r;
      f = v.c * d[i] + v.s * e[i];
      e[i] = v.c * e[i] - v.s * d[i];
      g = v.s * d[i + 1];
      d[i + 1] = v.c * d[i + 1];
      const Rotation u = Rotation::Of(f, g);
      d[i] = u.r;
      f = u.c * e[i] + u.s * d[i + 1];
      d[i + 1] = u.c * d[i + 1] - u.s * e[i];
      if (i + 1 < m) {
        g = u.s * e[i + 1];
        e[i + 1] = u.c * e[i + 1];
      }
      if (of_u != nullptr) {
        of_u->Add(u);
        of_v->Add(v);
      }
    }
    e[m - 1] = f;
  }
  return 0;
}

struct Svd {
  int64_t m, n;  // m >= n
  bool by_v;     // V has the signs
  double* s;
  Rows u, v;  // a row is a vector; without memory where they are not wanted
  int64_t num_u;

  int64_t Run(const Rows& a) const {
    const Scale scale = Scale::Of(a, m, n);
    if (!scale.finite) {
      constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
      std::fill_n(s, n, kNaN);
      for (int64_t j = 0; j < num_u && u.data != nullptr; ++j) std::fill_n(u[j], m, kNaN);
      for (int64_t j = 0; j < n && u.data != nullptr; ++j) std::fill_n(v[j], n, kNaN);
      return -1;
    }
    scale.Divide(a, m, n);
    Scratch scratch;
    Qr qr{m, n, nullptr, {nullptr, 0}, nullptr, nullptr, kLeastSquare};
    if (m > n && n > 0) {
      qr.data = scratch.Get<double>(qr.num_blocks() * kWidth * m);
      qr.vectors = NewRows(scratch, n, m);
      qr.tau = scratch.Get<double>(n);
      Triangularize(qr, a);
    }
    const int64_t info = n == 0 ? 0 : OfSquare(a, scale);
    if (u.data != nullptr) Finish(qr);
    return info;
  }

 private:
  /// A becomes R.
  void Triangularize(const Qr& qr, const Rows& a) const {
    for (int64_t block = 0; block < qr.num_blocks(); ++block) {
      const int64_t first = block * kWidth, count = std::min(kWidth, n - first);
      for (int64_t i = 0; i < m; ++i) {
        std::copy_n(a[i] + first, count, qr.At(block)[i]);
        std::fill(qr.At(block)[i] + count, qr.At(block)[i] + kWidth, 0.0);
      }
    }
    qr.Run(false);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) a[i][j] = i <= j ? qr.At(i, j) : 0.0;
    }
  }

  /// s, and the first numbers of u, and v, of the first rows of `a`.
  int64_t OfSquare(const Rows& a, const Scale& scale) const {
    Scratch scratch;
    double* const numbers = scratch.Get<double>(6 * n);
    double *const d = numbers, *const e = numbers + n, *const tau_left = numbers + 2 * n;
    double* const tau_right = numbers + 3 * n;
    const Rows left = NewRows(scratch, n, n), right = NewRows(scratch, n, n);
    Bidiagonal{n, a, left, right, tau_left, tau_right, d, e, numbers + 4 * n, numbers + 5 * n}.Run();
    auto* const order = scratch.Get<int64_t>(n);
    for (int64_t i = 0; i < n; ++i) order[i] = i;
    const auto sort = [&] {
      std::sort(order, order + n, [&](int64_t x, int64_t y) {
        const double of_x = __builtin_fabs(d[x]), of_y = __builtin_fabs(d[y]);
        return of_x > of_y || (of_x == of_y && x < y);
      });
      for (int64_t i = 0; i < n; ++i) s[i] = scale.Times(__builtin_fabs(d[order[i]]));
    };
    if (u.data == nullptr) {
      const int64_t info = Diagonalize(n, d, e, nullptr, nullptr, [] {});
      sort();
      return info;
    }
    const Lanewise of_u = Lanewise::Identity(scratch, n), of_v = Lanewise::Identity(scratch, n);
    of_u.ReflectAll(left, tau_left, n - 1, 0);
    of_v.ReflectAll(right, tau_right, n - 2, 1);
    Rotations rotations_u = Rotations::New(scratch, n), rotations_v = Rotations::New(scratch, n);
    const auto rotate = [&] {
      of_u.Rotate(rotations_u);
      of_v.Rotate(rotations_v);
      rotations_u.Clear();
      rotations_v.Clear();
    };
    const int64_t info = Diagonalize(n, d, e, &rotations_u, &rotations_v, rotate);
    rotate();
    sort();
    for (int64_t j = 0; j < n; ++j) {
      of_u.Column(order[j], u[j]);
      of_v.Column(order[j], v[j]);
      if (d[order[j]] < 0) Times(-1.0, v[j], n);
    }
    return info;
  }

  /// U times Q, and signs.
  void Finish(const Qr& qr) const {
    if (m > n) {
      for (int64_t j = 0; j < num_u; ++j) {
        std::fill(u[j] + (j < n ? n : 0), u[j] + m, 0.0);
        if (j >= n) u[j][j] = 1.0;
      }
      if (n > 0) ReflectRows(qr);
    }
    for (int64_t j = 0; j < num_u; ++j) {
      const double sign = by_v && j < n ? SignOfLargest(v[j], n) : SignOfLargest(u[j], m);
      Times(sign, u[j], m);
      if (j < n) Times(sign, v[j], n);
    }
  }

  void ReflectRows(const Qr& qr) const {
    const int64_t num_blocks = (num_u + kWidth - 1) / kWidth;
    ParallelRanges(num_blocks, 50000 / (2 * m * kWidth * n + 1) + 1, [&](int64_t begin, int64_t end) {
      Scratch own;
      const Block x{own.Get<double>(m * kWidth)};
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * kWidth, count = std::min(kWidth, num_u - first);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < count; ++j) x[i][j] = u[first + j][i];
          std::fill(x[i] + count, x[i] + kWidth, 0.0);
        }
        Reflect(qr.vectors, qr.tau, n - 1, -1, n, m, x);
        for (int64_t j = 0; j < count; ++j) {
          for (int64_t i = 0; i < m; ++i) u[first + j][i] = x[i][j];
        }
      }
    });
  }
};

}  // namespace

void SvdKernel(const SvdArgs& args) {
  const bool wide = args.m < args.n;
  const int64_t m = wide ? args.n : args.m, n = wide ? args.m : args.n, num_u = args.full ? m : n;
  const bool vectors = args.u != nullptr || args.vh != nullptr;
  ForMatrices(args.batch, 10 * n * n * n + 2 * m * n * num_u, [&](int64_t matrix) {
    Scratch scratch;
    const Rows a = NewRows(scratch, m, n);
    LoadRows(wide ? args.input.Transposed() : args.input, matrix, m, n, a);
    Svd svd{m, n, wide, scratch.Get<double>(n), {nullptr, 0}, {nullptr, 0}, num_u};
    if (vectors) svd.u = NewRows(scratch, num_u, m), svd.v = NewRows(scratch, n, n);
    args.info[matrix] = svd.Run(a);
    const DType dtype = args.input.dtype;
    StoreRows({svd.s, n}, 1, n, dtype, args.s, matrix * n);
    if (!vectors) return;
    // u has the left vectors as rows, and vh the right ones as columns.
    if (wide) {
      StoreRows(svd.v, n, n, dtype, args.u, matrix * n * n);
      StoreColumns(svd.u, num_u, m, dtype, args.vh, matrix * num_u * m);
    } else {
      StoreRows(svd.u, num_u, m, dtype, args.u, matrix * num_u * m);
      StoreColumns(svd.v, n, n, dtype, args.vh, matrix * n * n);
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
