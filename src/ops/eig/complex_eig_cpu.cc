// SPDX-License-Identifier: MIT
#include "ops/eig/eig_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

using Wide = WideOf<Complex>;

/// The root with a real part of at least 0; squares of the parts neither overflow nor matter where they underflow.
Complex SquareRoot(const Complex& x) {
  const double size = Sqrt(x.re * x.re + x.im * x.im);
  const double g = Sqrt((size + __builtin_fabs(x.re)) * 0.5);
  if (g == 0) return {0, 0};
  const double h = x.im / (2.0 * g);
  if (x.re >= 0) return {g, h};
  return {__builtin_fabs(h), x.im < 0 ? -g : g};
}

/// Rows x and y become x - t and y - conj(c) t, where t = tau (x + c y).
void TurnRows(const Complex& c, const Complex& tau, const PairRow& x, const PairRow& y, int64_t n) {
  const Wide factor = Wide::Of(c), times = Wide::Of(tau), back = Wide::Of(Negated(Conjugate(c)));
  ForVectors<double>(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const Wide first = Wide::FromRow(x + i, count), second = Wide::FromRow(y + i, count);
    const Wide t = times.Times(factor.PlusProduct(second, first));
    first.Minus(t).ToRow(x + i, count);
    back.PlusProduct(t, second).ToRow(y + i, count);
  });
}

/// The triangular form of a matrix.
struct Schur {
  int64_t n, lo, hi;
  PairRows a;
  PairRows columns;  // of Z, of which the matrix is Z T Zᴴ; without memory only what the values need is computed
  PairRow t, v, conjugates, tau;  // n numbers each

  bool whole() const { return columns.data != nullptr; }

  void ToHessenberg() const {
    for (int64_t k = lo; k + 2 <= hi; ++k) {
      const int64_t first = k + 1, count = hi - k;
      for (int64_t i = first; i <= hi; ++i) t.Put(i - first, a[i][k]);
      a[first].Put(k, {MakeReflection(t, count, v, tau), 0});
      for (int64_t i = first + 1; i <= hi; ++i) a[i].Put(k, {});
      for (int64_t i = 0; i < count; ++i) conjugates.Put(i, Conjugate(v[i]));
      // t = conj(tau) times the products of the conjugates of v with the columns behind.
      Sum(a, first, count, conjugates, Conjugate(tau[0]), first, n);
      for (int64_t i = 0; i <= hi; ++i) {
        const PairRow row = a[i] + first;
        const Complex factor = i < first ? Complex{} : v[i - first];
        if (i >= first) SubtractRow(factor, t, a[i], hi + 1, n);
        const Complex inner = SubtractAndInner(factor, t + first, v, row, count);
        SubtractRow(tau[0] * inner, conjugates, row, 0, count);
      }
      if (!whole()) continue;
      Sum(columns, first, count, v, tau[0], 0, n);
      for (int64_t j = first; j <= hi; ++j) SubtractRow(conjugates[j - first], t, columns[j], 0, n);
    }
  }

  /// False if the search was given up.
  bool Triangularize() const {
    int64_t sweeps = 0, since = 0;
    for (int64_t m = hi; m >= lo;) {
      int64_t l = m;
      for (; l > lo; --l) {
        const double size = SizeOf(a[l][l - 1]);
        if (size <= kLeast || size <= 0x1p-53 * (SizeOf(a[l - 1][l - 1]) + SizeOf(a[l][l]))) {
          a[l].Put(l - 1, {});
          break;
        }
      }
      if (l == m) {
        --m, since = 0;
      } else if (++sweeps > kMaxSweeps * n) {
        return false;
      } else {
        Sweep(l, m, Shift(m, ++since));
      }
    }
    return true;
  }

 private:
  /// t_j = factor * (the sum of by_i times number j of row first + i), from row `first` on, of which by_0 is 1.
  void Sum(const PairRows& rows, int64_t first, int64_t count, const PairRow& by, const Complex& factor, int64_t begin,
           int64_t end) const {
    const Wide times = Wide::Of(factor);
    ForVectors<double>(end - begin, [&](int64_t at, int64_t lanes) HWY_ATTR {
      const int64_t j = begin + at;
      Wide sum = Wide::FromRow(rows[first] + j, lanes);
      for (int64_t i = 1; i < count; ++i)
        sum = Wide::Of(by[i]).PlusProduct(Wide::FromRow(rows[first + i] + j, lanes), sum);
      times.Times(sum).ToRow(t + j, lanes);
    });
  }

  /// An estimate of a value: of those of the last two rows, the one that is nearer to the last number.
  Complex Shift(int64_t m, int64_t number) const {
    Complex s = a[m][m];
    if (number % 10 == 0) return {s.re + 0.75 * SizeOf(a[m][m - 1]), s.im};
    const Complex w = a[m - 1][m] * a[m][m - 1];
    if (IsZero(w)) return s;
    const Complex apart = a[m - 1][m - 1] - s, p{0.5 * apart.re, 0.5 * apart.im}, square = p * p;
    Complex z = SquareRoot({square.re + w.re, square.im + w.im});
    if (p.re * z.re + p.im * z.im < 0) z = Negated(z);
    return s - w / Complex{p.re + z.re, p.im + z.im};
  }

  void Sweep(int64_t l, int64_t m, const Complex& shift) const {
    for (int64_t j = l; j < m; ++j) {
      double numbers[4], reflection[4], factor[2];
      const PairRow head{numbers, numbers + 2}, of_head{reflection, reflection + 2}, of_tau{factor, factor + 1};
      head.Put(0, j == l ? a[l][l] - shift : a[j][j - 1]);
      head.Put(1, j == l ? a[l + 1][l] : a[j + 1][j - 1]);
      const double result = MakeReflection(head, 2, of_head, of_tau);
      const Complex by = of_head[1], times = of_tau[0];
      if (j > l) {
        a[j].Put(j - 1, {result, 0});
        a[j + 1].Put(j - 1, {});
      }
      TurnRows(Conjugate(by), Conjugate(times), a[j] + j, a[j + 1] + j, (whole() ? n : m + 1) - j);
      TurnColumns(by, times, j, whole() ? 0 : l, std::min(j + 2, m));
      if (whole()) TurnRows(by, times, columns[j], columns[j + 1], n);
    }
  }

  void TurnColumns(const Complex& c, const Complex& times, int64_t j, int64_t first, int64_t last) const {
    const Wide factor = Wide::Of(c), of_t = Wide::Of(times), back = Wide::Of(Negated(Conjugate(c)));
    for (int64_t i = first; i <= last; ++i) {
      const PairRow row = a[i] + j;
      const Wide x = Wide::Of(row[0]), y = Wide::Of(row[1]), product = of_t.Times(factor.PlusProduct(y, x));
      x.Minus(product).ToRow(row, 1);
      back.PlusProduct(product, y).ToRow(row + 1, 1);
    }
  }
};

/// Of the value in row k of the triangular form the vector, of which x has room for n numbers; column j of the form is
/// row j of `columns`.
void SolveTriangular(const PairRows& columns, int64_t k, const PairRow& x) {
  std::fill_n(x.re, k, 0.0);
  std::fill_n(x.im, k, 0.0);
  x.Put(k, {1, 0});
  const Complex value = columns[k][k];
  const double least = std::max(0x1p-52 * SizeOf(value), kLeast);
  SubtractRow(x[k], columns[k], x, 0, k);
  for (int64_t i = k - 1; i >= 0; --i) {
    const Complex divisor = columns[i][i] - value;
    x.Put(i, x[i] / (SizeOf(divisor) < least ? Complex{least, 0} : divisor));
    const double size = SizeOf(x[i]);
    if (size > 0x1p100) {
      const double down = PowerOf2(1022 - static_cast<int64_t>(std::bit_cast<uint64_t>(size) >> 52));
      for (int64_t j = 0; j <= k; ++j) x.re[j] = x.re[j] * down, x.im[j] = x.im[j] * down;
    }
    SubtractRow(x[i], columns[i], x, 0, i);
  }
}

int64_t Solve(const PairRows& a, int64_t n, double* values, const Rows& vectors) {
  const bool with_vectors = vectors.data != nullptr;
  const Rows parts = PartsOf(a);
  const Scale scale = ScaleOf(parts, 2 * n, n);
  if (!scale.finite) return Fail(-1, n, values, vectors);
  Divide(parts, 2 * n, n, scale);
  Scratch scratch;
  Balance balance = Balance::New(scratch, n);
  const Rows of_balance[] = {a.Real(), a.Imaginary()};
  balance.Run(of_balance);
  PairRows columns{nullptr, 0, 0};
  if (with_vectors) {
    columns = NewRowsOf<PairRows>(scratch, n, n);
    for (int64_t i = 0; i < n; ++i) {
      std::fill_n(columns[i].re, n, 0.0);
      std::fill_n(columns[i].im, n, 0.0);
      columns[i].Put(i, {1, 0});
    }
  }
  const auto rows_of_n = NewRowsOf<PairRows>(scratch, 4, n);
  const Schur schur{n, balance.lo, balance.hi, a, columns, rows_of_n[0], rows_of_n[1], rows_of_n[2], rows_of_n[3]};
  schur.ToHessenberg();
  if (!schur.Triangularize()) return Fail(1, n, values, vectors);
  for (int64_t i = 0; i < n; ++i) {
    values[2 * i] = scale.Times(a[i].re[i]) + 0.0;
    values[2 * i + 1] = scale.Times(a[i].im[i]) + 0.0;
  }
  if (!with_vectors) return 0;
  const auto transposed = NewRowsOf<PairRows>(scratch, n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j) transposed[j].Put(i, a[i][j]);
  }
  ParallelRanges(n, 50000 / (4 * n * n + 1) + 1, [&](int64_t begin, int64_t end) {
    Scratch own;
    const auto numbers = NewRowsOf<PairRows>(own, 2, n);
    const PairRow x = numbers[0], product = numbers[1];
    for (int64_t k = begin; k < end; ++k) {
      SolveTriangular(transposed, k, x);
      std::fill_n(product.re, n, 0.0);
      std::fill_n(product.im, n, 0.0);
      for (int64_t j = 0; j <= k; ++j) SubtractRow(Negated(x[j]), columns[j], product, 0, n);
      balance.Undo(product.re);
      balance.Undo(product.im);
      Normalize(n, product);
      PutPairs(n, product, 1, vectors[k]);
    }
  });
  return 0;
}

}  // namespace

void ComplexEigKernel(const EigArgs& args) {
  ForEachMatrix<PairRows>(args, args.vectors == nullptr ? 40 : 100, &Solve);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
