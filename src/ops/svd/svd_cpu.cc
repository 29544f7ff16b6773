// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "drivers/spectral_cpu-inl.h"
#include "ops/svd/svd_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

constexpr int64_t kVec = kLanesOf<double>;

#include "ops/svd/svd.lane.h"

void ConjugateRow(const double* /*x*/, int64_t /*n*/) {}
void ConjugateRow(const PairRow& x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x.im[i] = -x.im[i];
}

/// The diagonals d and e of Uᴴ A V, n x n.
template <class Matrix>
struct Bidiagonal {
  using Row = RowOf<Matrix>;
  using Wide = WideOf<NumberOf<Matrix>>;

  int64_t n;
  Matrix a;
  Matrix left, right;  // the reflections: number k of reflection k of `right` stands for place k + 1
  Row tau_left, tau_right;
  double *d, *e;
  Row column, t, conjugate;  // n numbers each

  void Run() const {
    for (int64_t i = 0; i < n; ++i) PutNumber(column, i, a[i][0]);
    for (int64_t k = 0; k < n; ++k) {
      const Row v = left[k];
      d[k] = MakeReflection(column + k, n - k, v + k, tau_left + k);
      const int64_t behind = n - k - 1;
      if (behind == 0) return;
      ParallelRanges((behind + kVec - 1) / kVec, 50000 / (behind * kVec + 1) + 1, [&](int64_t begin, int64_t end) {
        SetT(k, k + 1 + begin * kVec, std::min(n, k + 1 + end * kVec));
      });
      const Row u = right[k] + k;
      ConjugateRow(a[k] + (k + 1), behind);
      e[k] = MakeReflection(a[k] + (k + 1), behind, u, tau_right + k);
      CopyNumbers(u, behind, conjugate);
      ConjugateRow(conjugate, behind);
      ParallelRanges(behind, 50000 / (3 * behind + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = k + 1 + begin; i < k + 1 + end; ++i) {
          const Row row = a[i] + (k + 1);
          const NumberOf<Matrix> inner = SubtractAndInner(v[i], t + (k + 1), u, row, behind);
          SubtractRow(tau_right[k] * inner, conjugate, row, 0, behind);
          PutNumber(column, i, row[0]);
        }
      });
    }
  }

 private:
  /// t of columns [begin, end), and row k without it.
  void SetT(int64_t k, int64_t begin, int64_t end) const {
    CopyNumbers(a[k] + begin, end - begin, t + begin);
    constexpr int kTogether = Wide::kCount;
    int64_t i = k + 1;
    for (; i + kTogether <= n; i += kTogether) AddRows<kTogether>(k, i, begin, end);
    for (; i < n; ++i) AddRows<1>(k, i, begin, end);
    const Wide tau = Wide::Of(Conjugate(tau_left[k]));
    ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const Row from = t + (begin + at), row = a[k] + (begin + at);
      const Wide value = tau.Times(Wide::FromRow(from, count));
      value.ToRow(from, count);
      Wide::FromRow(row, count).Minus(value).ToRow(row, count);
    });
  }

  template <int kRows>
  HWY_INLINE void AddRows(int64_t k, int64_t first, int64_t begin, int64_t end) const {
    Wide times[kRows];
    for (int r = 0; r < kRows; ++r) times[r] = Wide::Of(left[k][first + r]);
    ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
      const int64_t j = begin + at;
      Wide sum = Wide::FromRow(t + j, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum = times[r].PlusConjugate(Wide::FromRow(a[first + r] + j, count), sum);
      sum.ToRow(t + j, count);
    });
  }
};

template <class Row>
void Negate(const Row& x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) PutNumber(x, i, TimesWithoutSign(x[i], -1.0));
}

template <class Matrix>
struct SvdOf {
  using Qr = QrOf<Matrix>;
  static constexpr int64_t kParts = kPartsOf<Matrix>;

  int64_t m, n;  // m >= n
  bool by_v;     // V has the signs
  double* s;
  Matrix u, v;  // a row is a vector, of v its conjugate; without memory where they are not wanted
  int64_t num_u;

  int64_t Run(const Matrix& a) const {
    const Rows parts = PartsOf(a);
    const Scale scale = ScaleOf(parts, kParts * m, n);
    if (!scale.finite) {
      constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
      std::fill_n(s, n, kNaN);
      for (int64_t j = 0; j < kParts * num_u && u.data != nullptr; ++j) std::fill_n(PartsOf(u)[j], m, kNaN);
      for (int64_t j = 0; j < kParts * n && u.data != nullptr; ++j) std::fill_n(PartsOf(v)[j], n, kNaN);
      return -1;
    }
    Divide(parts, kParts * m, n, scale);
    Scratch scratch;
    const Matrix tau = NewRowsOf<Matrix>(scratch, 1, n);
    Qr qr{m, n, nullptr, {}, tau[0], nullptr, kLeastSquare};
    if (m > n && n > 0) {
      qr.data = scratch.Get<double>(qr.num_blocks() * kWidth * m);
      qr.vectors = NewRowsOf<Matrix>(scratch, n, m);
      Triangularize(qr, a);
    }
    const int64_t info = n == 0 ? 0 : OfSquare(a, scale);
    if (u.data != nullptr) Finish(qr);
    return info;
  }

 private:
  /// A becomes R.
  void Triangularize(const Qr& qr, const Matrix& a) const {
    for (int64_t block = 0; block < qr.num_blocks(); ++block) {
      const int64_t first = block * Qr::kColumns, count = std::min(Qr::kColumns, n - first);
      if (count < Qr::kColumns) std::fill_n(qr.At(block).data, m * kWidth, 0.0);
      const Matrix columns = AsMatrix<Matrix>(qr.At(block));
      for (int64_t i = 0; i < m; ++i) CopyNumbers(a[i] + first, count, columns[i]);
    }
    qr.Run(false);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) PutNumber(a[i], j, i <= j ? qr.At(i, j) : typename Qr::Number{});
    }
  }

  /// s, and the first numbers of u, and v, of the first rows of `a`.
  int64_t OfSquare(const Matrix& a, const Scale& scale) const {
    Scratch scratch;
    double* const numbers = scratch.Get<double>(2 * n);
    double *const d = numbers, *const e = numbers + n;
    const Matrix rows_of_n = NewRowsOf<Matrix>(scratch, 5, n);
    const auto tau_left = rows_of_n[0], tau_right = rows_of_n[1];
    const Matrix left = NewRowsOf<Matrix>(scratch, n, n), right = NewRowsOf<Matrix>(scratch, n, n);
    Bidiagonal<Matrix>{n, a, left, right, tau_left, tau_right, d, e, rows_of_n[2], rows_of_n[3], rows_of_n[4]}.Run();
    auto* const order = scratch.Get<int64_t>(n);
    for (int64_t i = 0; i < n; ++i) order[i] = i;
    const auto sort = [&] {
      std::sort(order, order + n, [&](int64_t x, int64_t y) {
        const double of_x = __builtin_fabs(d[x]), of_y = __builtin_fabs(d[y]);
        return of_x > of_y || (of_x == of_y && x < y);
      });
      for (int64_t i = 0; i < n; ++i) s[i] = scale.Times(__builtin_fabs(d[order[i]]));
    };
    Search search = Search::Of(n, d, e);
    if (u.data == nullptr) {
      Rotations none{};
      Diagonalize(search, none, none);
      sort();
      return search.info;
    }
    constexpr int64_t kAlone = kParts - 1;  // a reflection of one number makes it real
    const auto of_u = LanewiseOf<Matrix>::Identity(scratch, n), of_v = LanewiseOf<Matrix>::Identity(scratch, n);
    of_u.ReflectAll(left, tau_left, n - 1 + kAlone, 0);
    of_v.ReflectAll(right, tau_right, n - 2 + kAlone, 1);
    Rotations rotations_u = NewRotations(scratch, n), rotations_v = NewRotations(scratch, n);
    for (bool done = false; !done; rotations_u.Clear(), rotations_v.Clear()) {
      done = Diagonalize(search, rotations_u, rotations_v);
      of_u.Rotate(rotations_u);
      of_v.Rotate(rotations_v);
    }
    sort();
    for (int64_t j = 0; j < n; ++j) {
      of_u.Column(order[j], u[j]);
      ConjugateRow(u[j], n);
      of_v.Column(order[j], v[j]);
      if (d[order[j]] < 0) Negate(v[j], n);
    }
    return search.info;
  }

  /// U times Q, and signs.
  void Finish(const Qr& qr) const {
    if (m > n) {
      for (int64_t j = 0; j < num_u; ++j) {
        for (int64_t i = j < n ? n : 0; i < m; ++i) PutNumber(u[j], i, typename Qr::Number{});
        if (j >= n) PartsOf(u)[kParts * j][j] = 1.0;
      }
      if (n > 0) ReflectRows(qr);
    }
    for (int64_t j = 0; j < num_u; ++j) {
      if (j >= n) {
        SetSign(u[j], m, u[j], 0);
      } else if (by_v) {
        SetSign(v[j], n, u[j], m);
      } else {
        SetSign(u[j], m, v[j], n);
      }
    }
  }

  void ReflectRows(const Qr& qr) const {
    constexpr int64_t kRows = kVectorsOf<Matrix>;
    const int64_t num_blocks = (num_u + kRows - 1) / kRows;
    ParallelRanges(num_blocks, 50000 / (2 * m * kWidth * n + 1) + 1, [&](int64_t begin, int64_t end) {
      Scratch own;
      const Block block_of_u{own.Get<double>(m * kWidth)};
      const Matrix x = AsMatrix<Matrix>(block_of_u);
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * kRows, count = std::min(kRows, num_u - first);
        if (count < kRows) std::fill_n(block_of_u.data, m * kWidth, 0.0);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < count; ++j) PutNumber(x[i], j, u[first + j][i]);
        }
        Reflect(qr.vectors, qr.tau, false, n - 1, n, m, block_of_u);
        for (int64_t j = 0; j < count; ++j) {
          for (int64_t i = 0; i < m; ++i) PutNumber(u[first + j], i, x[i][j]);
        }
      }
    });
  }
};

template <class Matrix>
void Run(const SvdArgs& args) {
  const bool wide = args.m < args.n;
  const int64_t m = wide ? args.n : args.m, n = wide ? args.m : args.n, num_u = args.full ? m : n;
  const bool vectors = args.u != nullptr || args.vh != nullptr;
  ForMatrices(args.batch, 10 * n * n * n + 2 * m * n * num_u, [&](int64_t matrix) {
    if (n == 0 && !vectors) {  // m may be any number
      args.info[matrix] = 0;
      return;
    }
    Scratch scratch;
    const Matrix a = NewRowsOf<Matrix>(scratch, m, n);
    LoadRows(wide ? args.input.Transposed() : args.input, matrix, m, n, a);
    SvdOf<Matrix> svd{m, n, wide, scratch.Get<double>(n), {}, {}, num_u};
    if (vectors) svd.u = NewRowsOf<Matrix>(scratch, num_u, m), svd.v = NewRowsOf<Matrix>(scratch, n, n);
    args.info[matrix] = svd.Run(a);
    const DType dtype = args.input.dtype;
    StoreRows(Rows{svd.s, n}, 1, n, dtype, args.s, matrix * n);
    if (!vectors) return;
    // u has the left vectors as rows, and vh the right ones as columns; of the transpose A = conj(V) S Uᵀ.
    if (wide) {
      StoreRows(svd.v, n, n, dtype, args.u, matrix * n * n);
      StoreColumns(svd.u, num_u, m, dtype, args.vh, matrix * num_u * m);
    } else {
      StoreRows(svd.u, num_u, m, dtype, args.u, matrix * num_u * m);
      StoreColumns(svd.v, n, n, dtype, args.vh, matrix * n * n);
    }
  });
}

}  // namespace

void SvdKernel(const SvdArgs& args) { args.pairs ? Run<PairRows>(args) : Run<Rows>(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
