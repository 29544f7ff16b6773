// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of general complex matrices, by single shifts, number by number in double.
#include "complex_reflections.h"

namespace repdl::reference {
namespace {

Complex RootOf(Complex x) {
  const double re = x.re * x.re, im = x.im * x.im, r = std::sqrt(re + im), g = std::sqrt((r + std::fabs(x.re)) * 0.5);
  if (g == 0) return {0, 0};
  const double h = x.im / (2 * g);
  return x.re >= 0 ? Complex{g, h} : Complex{std::fabs(h), x.im < 0 ? -g : g};
}

/// z + p q
Complex Plus(Complex z, Complex p, Complex q) { return Less(z, {-p.re, -p.im}, q); }

struct Search {
  Grid a;
  int64_t lo, hi;
  std::vector<Reflection> reflections;

  int64_t Count(const Reflection& r) const { return static_cast<int64_t>(r.v.size()); }

  /// The numbers of a row go through a reflection of columns.
  void ApplyToRow(const Reflection& r, Grid& to, int64_t i) const {
    Complex w = to(i, r.first);
    for (int64_t j = r.first + 1; j < Count(r); ++j) w = Plus(w, r.v[j], to(i, j));
    const Complex t = Times(r.tau, w);
    to(i, r.first) = Minus(to(i, r.first), t);
    for (int64_t j = r.first + 1; j < Count(r); ++j) to(i, j) = Less(to(i, j), Conjugate(r.v[j]), t);
  }

  void ApplyToColumn(const Reflection& r, int64_t j) {
    Pairs x;
    for (int64_t i = 0; i < Count(r); ++i) x.push_back(a(i, j));
    Apply(r, true, x);
    for (int64_t i = 0; i < Count(r); ++i) a(i, j) = x[i];
  }

  void ToHessenberg() {
    for (int64_t k = lo; k + 2 <= hi; ++k) {
      Pairs x;
      for (int64_t i = 0; i <= hi; ++i) x.push_back(a(i, k));
      const Reflection r = ReflectionOf(x, k + 1);
      a(k + 1, k) = {r.result, 0};
      for (int64_t i = k + 2; i <= hi; ++i) a(i, k) = {};
      if (IsZero(r.tau)) continue;
      reflections.push_back(r);
      for (int64_t j = k + 1; j < a.columns; ++j) ApplyToColumn(r, j);
      Grid part{hi + 1, hi + 1, {}};
      for (int64_t i = 0; i <= hi; ++i) part.at.insert(part.at.end(), &a(i, 0), &a(i, 0) + hi + 1);
      for (int64_t i = 0; i <= hi; ++i) {
        const Complex q = Times(r.tau, Inner(part, i, r.v, k + 1));
        for (int64_t j = k + 1; j <= hi; ++j) a(i, j) = Less(a(i, j), q, Conjugate(r.v[j]));
      }
    }
  }

  bool IsNegligible(int64_t l) {
    const double size = Size(a(l, l - 1));
    return size <= 0x1p-400 || size <= 0x1p-53 * (Size(a(l - 1, l - 1)) + Size(a(l, l)));
  }

  bool Run() {
    int64_t m = hi, sweeps = 0, since = 0;
    while (m >= lo) {
      int64_t l = m;
      while (l > lo && !IsNegligible(l)) --l;
      if (l > lo) a(l, l - 1) = {};
      if (l == m) {
        --m;
        since = 0;
        continue;
      }
      if (sweeps++ == 40 * a.rows) return false;
      Sweep(l, m, ++since);
    }
    return true;
  }

  Complex ShiftOf(int64_t m, int64_t number) {
    const Complex s = a(m, m);
    if (number % 10 == 0) {
      const double more = 0.75 * Size(a(m, m - 1));
      return {s.re + more, s.im};
    }
    const Complex w = Times(a(m - 1, m), a(m, m - 1));
    if (IsZero(w)) return s;
    const Complex apart = Minus(a(m - 1, m - 1), s), p{0.5 * apart.re, 0.5 * apart.im}, pp = Times(p, p);
    Complex z = RootOf({pp.re + w.re, pp.im + w.im});
    const double re = p.re * z.re, im = p.im * z.im;
    if (re + im < 0) z = {-z.re, -z.im};
    return Minus(s, Over(w, {p.re + z.re, p.im + z.im}));
  }

  void Sweep(int64_t l, int64_t m, int64_t number) {
    const Complex s = ShiftOf(m, number);
    for (int64_t j = l; j < m; ++j) {
      Pairs x(j + 2);
      x[j] = j == l ? Minus(a(l, l), s) : a(j, j - 1);
      x[j + 1] = j == l ? a(l + 1, l) : a(j + 1, j - 1);
      const Reflection r = ReflectionOf(x, j);
      if (j > l) {
        a(j, j - 1) = {r.result, 0};
        a(j + 1, j - 1) = {};
      }
      if (IsZero(r.tau)) continue;
      reflections.push_back(r);
      for (int64_t column = j; column < a.columns; ++column) ApplyToColumn(r, column);
      for (int64_t row = 0; row <= std::min(j + 2, m); ++row) ApplyToRow(r, a, row);
    }
  }
};

/// Of value k of the triangular form.
Pairs VectorOf(Grid& a, int64_t k) {
  Pairs x(k + 1);
  x[k] = {1, 0};
  const double e = std::max(0x1p-52 * Size(a(k, k)), 0x1p-400);
  for (int64_t found = k; found >= 0; --found) {
    if (found < k) {
      const Complex divisor = Minus(a(found, found), a(k, k));
      x[found] = Over(x[found], Size(divisor) < e ? Complex{e, 0} : divisor);
      if (Size(x[found]) > 0x1p100) {
        int exponent = 0;
        std::frexp(Size(x[found]), &exponent);
        for (Complex& number : x) number = Shift(number, -exponent);
      }
    }
    for (int64_t i = 0; i < found; ++i) x[i] = Less(x[i], x[found], a(i, found));
  }
  return x;
}

Eigen EigenOf(Grid a) {
  const int64_t n = a.rows;
  int exponent = 0;
  if (!FindExponent(a, exponent)) return Eigen::Lost(n, -1);
  ScaleDown(a, exponent);
  const Balanced balanced = Balance(a);
  Search search{a, balanced.lo, balanced.hi, {}};
  search.ToHessenberg();
  if (!search.Run()) return Eigen::Lost(n, 1);
  Grid z{n, n, Pairs(n * n)};
  for (int64_t i = 0; i < n; ++i) {
    z(i, i) = {1, 0};
    for (const Reflection& r : search.reflections) search.ApplyToRow(r, z, i);
  }
  Eigen result;
  for (int64_t k = 0; k < n; ++k) {
    const Complex value = search.a(k, k);
    result.values.push_back({Shifted(value.re, exponent) + 0.0, Shifted(value.im, exponent) + 0.0});
    const Pairs x = VectorOf(search.a, k);
    Pairs v(n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= k; ++j) v[i] = Plus(v[i], x[j], z(i, j));
    }
    balanced.Undo(v);
    Normalize(v);
    result.vectors.push_back(v);
  }
  return result;
}

}  // namespace

template <class T>
static Results RunComplexEig(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf<T>(args, GridsOf<T>(args, "input"), EigenOf, true);
}
template <class T>
static Results RunComplexEigvals(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf<T>(args, GridsOf<T>(args, "input"), EigenOf, false);
}

static const Op kOps[] = {{"complex_eig", REPDL_EITHER(RunComplexEig)},
                          {"complex_eigvals", REPDL_EITHER(RunComplexEigvals)}};

}  // namespace repdl::reference
