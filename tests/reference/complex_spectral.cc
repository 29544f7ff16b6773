// SPDX-License-Identifier: MIT
// Eigenvalues and singular values of complex matrices, rotation by rotation in double.
#include <limits>
#include <numeric>

#include "complex_reflections.h"

namespace repdl::reference {
namespace {

/// The columns of the matrix whose rows are those of the identity, reflected and then rotated: the conjugates of vectors.
std::vector<Pairs> Columns(int64_t n, const std::vector<Reflection>& reflections,
                           const std::vector<Rotation>& rotations) {
  std::vector<Pairs> columns(n, Pairs(n));
  const auto rotate = [](const Rotation& r, double& x, double& y) {
    const double a = x, b = y, sa = r.s * a, sb = r.s * b;
    x = std::fma(r.c, a, sb);
    y = std::fma(r.c, b, -sa);
  };
  for (int64_t row = 0; row < n; ++row) {
    Pairs z(n);
    z[row] = {1, 0};
    for (const Reflection& r : reflections) Apply(r, true, z);
    for (const Rotation& r : rotations) {
      rotate(r, z[r.place].re, z[r.place + 1].re);
      rotate(r, z[r.place].im, z[r.place + 1].im);
    }
    for (int64_t j = 0; j < n; ++j) columns[j][row] = z[j];
  }
  return columns;
}

/// The first of the largest numbers of x becomes real, and y, or null, is multiplied by the conjugate.
void SetPhase(Pairs& x, Pairs* y) {
  size_t largest = 0;
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double of_im = x[i].im * x[i].im, square = std::fma(x[i].re, x[i].re, of_im);
    if (square > most) most = square, largest = i;
  }
  const double s = std::sqrt(most);
  const Complex p{x[largest].re / s, -(x[largest].im / s)};
  const auto times = [](Pairs& of, Complex by) {
    for (Complex& z : of) {
      z = Times(z, by);
      z = {z.re + 0.0, z.im + 0.0};
    }
  };
  times(x, p);
  x[largest] = {s, 0};
  if (y != nullptr) times(*y, Conjugate(p));
}

/// The vector whose conjugate x is, of the phase that it is given.
Pairs Finished(Pairs x) {
  SetPhase(x, nullptr);
  for (Complex& z : x) z.im = 0.0 - z.im;
  return x;
}

struct Eigen {
  Doubles values;
  std::vector<Pairs> vectors;
  int64_t info;
};

Eigen EigenOf(Grid a) {
  const int64_t n = a.rows;
  int exponent = 0;
  if (!FindExponent(a, exponent)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {Doubles(n, nan), std::vector<Pairs>(n, Pairs(n, {nan, nan})), -1};
  }
  ScaleDown(a, exponent);
  Doubles d(n), e(n == 0 ? 0 : n - 1);
  std::vector<Reflection> reflections;
  for (int64_t k = 0; k < n; ++k) {
    d[k] = a(k, k).re;
    if (k + 1 == n) break;
    Pairs column(n);
    for (int64_t j = 0; j < n; ++j) column[j] = a(j, k);
    const Reflection r = ReflectionOf(column, k + 1);
    e[k] = r.result;
    if (IsZero(r.tau)) continue;
    reflections.push_back(r);
    Pairs p(n), w(n);
    double g = 0;
    for (int64_t j = k + 1; j < n; ++j) {
      Complex y{0, 0};
      for (int64_t i = k + 1; i < n; ++i) y = Less(y, {-r.v[i].re, -r.v[i].im}, a(j, i));
      p[j] = Times(r.tau, y);
      g = std::fma(y.im, r.v[j].im, std::fma(y.re, r.v[j].re, g));
    }
    const double square = r.tau.im * r.tau.im, h = std::fma(r.tau.re, r.tau.re, square) * 0.5 * g;
    for (int64_t j = k + 1; j < n; ++j) w[j] = {std::fma(-h, r.v[j].re, p[j].re), std::fma(-h, r.v[j].im, p[j].im)};
    for (int64_t i = k + 1; i < n; ++i) {
      for (int64_t j = k + 1; j < n; ++j) {
        a(j, i) = Less(Less(a(j, i), Conjugate(r.v[i]), w[j]), Conjugate(w[i]), r.v[j]);
      }
    }
  }
  std::vector<Rotation> rotations;
  const int64_t info = DiagonalizeTridiagonal(d, e, rotations);
  const std::vector<Pairs> columns = Columns(n, reflections, rotations);
  Indices order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return d[x] < d[y]; });
  Eigen result{{}, {}, info};
  for (int64_t j : order) {
    result.values.push_back(Shifted(d[j], exponent) + 0.0);
    result.vectors.push_back(Finished(columns[j]));
  }
  return result;
}

struct Singular {
  std::vector<Pairs> u, v;  // of v the conjugates
  Doubles s;
  int64_t info;
};

Pairs RowOf(const Grid& a, int64_t i) {
  return Pairs(a.at.begin() + i * a.columns, a.at.begin() + (i + 1) * a.columns);
}

/// Of a square matrix, but for the phases and places; of u the conjugates too.
Singular OfSquare(Grid a) {
  const int64_t n = a.rows;
  Doubles d(n), e(n == 0 ? 0 : n - 1);
  std::vector<Reflection> left, right;
  for (int64_t k = 0; k < n; ++k) {
    Grid columns = a.Transposed();
    left.push_back(ReflectionOf(RowOf(columns, k), k));
    d[k] = left[k].result;
    for (int64_t j = k + 1; j < n; ++j) {
      Pairs x = RowOf(columns, j);
      Apply(left[k], true, x);
      for (int64_t i = 0; i < n; ++i) a(i, j) = x[i];
    }
    if (k + 1 == n) break;
    Pairs row = RowOf(a, k);
    for (Complex& x : row) x = Conjugate(x);
    right.push_back(ReflectionOf(row, k + 1));
    e[k] = right[k].result;
    for (int64_t i = k + 1; !IsZero(right[k].tau) && i < n; ++i) {
      const Complex q = Times(right[k].tau, Inner(a, i, right[k].v, k + 1));
      for (int64_t j = k + 1; j < n; ++j) a(i, j) = Less(a(i, j), q, Conjugate(right[k].v[j]));
    }
  }
  std::vector<Rotation> of_u, of_v;
  const int64_t info = DiagonalizeBidiagonal(d, e, of_u, of_v);
  return {Columns(n, left, of_u), Columns(n, right, of_v), d, info};
}

Singular SingularOf(Grid a, bool full) {
  const bool wide = a.rows < a.columns;
  if (wide) a = a.Transposed();
  const int64_t m = a.rows, n = a.columns, num_u = full ? m : n;
  int exponent = 0;
  Singular result;
  if (!FindExponent(a, exponent)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Complex nans{nan, nan};
    result = {std::vector<Pairs>(num_u, Pairs(m, nans)), std::vector<Pairs>(n, Pairs(n, nans)), Doubles(n, nan), -1};
  } else {
    ScaleDown(a, exponent);
    std::vector<Reflection> of_q;
    Grid r{n, n, Pairs(n * n)};
    if (m > n) {
      Grid columns = a.Transposed();
      std::vector<Pairs> x;
      for (int64_t j = 0; j < n; ++j) x.push_back(RowOf(columns, j));
      for (int64_t j = 0; j < n; ++j) {
        of_q.push_back(ReflectionOf(x[j], j));
        for (int64_t i = 0; i < j; ++i) r(i, j) = x[j][i];
        r(j, j) = {of_q[j].result, 0};
        for (int64_t other = j + 1; other < n; ++other) Apply(of_q[j], true, x[other]);
      }
    } else {
      r = a;
    }
    Singular found = OfSquare(r);
    Indices order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t x, int64_t y) { return std::fabs(found.s[x]) > std::fabs(found.s[y]); });
    result.info = found.info;
    for (int64_t j = 0; j < num_u; ++j) {
      Pairs u(m);
      if (j < n) {
        const int64_t place = order[j];
        for (int64_t i = 0; i < n; ++i) u[i] = Conjugate(found.u[place][i]);
        Pairs v = found.v[place];
        for (Complex& z : v) z = found.s[place] < 0 ? Complex{-z.re, -z.im} : z;
        result.v.push_back(v);
        result.s.push_back(Shifted(std::fabs(found.s[place]), exponent));
      } else {
        u[j] = {1, 0};
      }
      for (auto reflection = of_q.rbegin(); reflection != of_q.rend(); ++reflection) Apply(*reflection, false, u);
      if (wide && j < n) {
        SetPhase(result.v[j], &u);
      } else {
        SetPhase(u, j < n ? &result.v[j] : nullptr);
      }
      result.u.push_back(u);
    }
  }
  if (wide) std::swap(result.u, result.v);
  return result;
}

Grid RowsToGrid(const std::vector<Pairs>& rows, int64_t columns) {
  Grid grid{static_cast<int64_t>(rows.size()), columns, {}};
  for (const Pairs& row : rows) grid.at.insert(grid.at.end(), row.begin(), row.end());
  return grid;
}

template <class T>
Results RunEigh(const Case& test_case, bool vectors) {
  const Arguments args(test_case);
  Numbers<T> values;
  std::vector<Grid> found;
  Indices info;
  for (Grid& a : GridsOf<T>(args, "input")) {
    const bool upper = args.Flag("upper");
    for (int64_t i = 0; i < a.rows; ++i) {
      a(i, i).im = 0;
      for (int64_t j = i + 1; j < a.rows; ++j) {
        if (upper) a(j, i) = Conjugate(a(i, j));
        if (!upper) a(i, j) = Conjugate(a(j, i));
      }
    }
    const Eigen eigen = EigenOf(a);
    for (double value : eigen.values) values.push_back(static_cast<T>(value));
    found.push_back(RowsToGrid(eigen.vectors, a.rows));
    info.push_back(eigen.info);
  }
  Results results;
  Append(results, values, args.OutputShape());
  if (vectors) AppendGrids<T>(results, found, args.OutputShape(1));
  Append(results, info, args.OutputShape(vectors ? 2 : 1));
  return results;
}

template <class T>
Results RunSvd(const Case& test_case, bool full, bool vectors) {
  const Arguments args(test_case);
  Numbers<T> values;
  std::vector<Grid> us, vs;
  Indices info;
  for (const Grid& a : GridsOf<T>(args, "input")) {
    const Singular found = SingularOf(a, full);
    for (double value : found.s) values.push_back(static_cast<T>(value));
    us.push_back(RowsToGrid(found.u, a.rows));
    vs.push_back(RowsToGrid(found.v, a.columns).Transposed());
    info.push_back(found.info);
  }
  Results results;
  int output = 0;
  if (vectors) AppendGrids<T>(results, us, args.OutputShape(output++));
  Append(results, values, args.OutputShape(output++));
  if (vectors) AppendGrids<T>(results, vs, args.OutputShape(output++));
  Append(results, info, args.OutputShape(output));
  return results;
}

}  // namespace

template <class T>
static Results RunComplexEigh(const Case& test_case) {
  return RunEigh<T>(test_case, true);
}
template <class T>
static Results RunComplexEigvalsh(const Case& test_case) {
  return RunEigh<T>(test_case, false);
}

template <class T>
static Results RunComplexSvd(const Case& test_case) {
  return RunSvd<T>(test_case, Arguments(test_case).Flag("full"), true);
}
template <class T>
static Results RunComplexSvdvals(const Case& test_case) {
  return RunSvd<T>(test_case, false, false);
}

static const Op kOps[] = {{"complex_eigh", REPDL_EITHER(RunComplexEigh)},
                          {"complex_eigvalsh", REPDL_EITHER(RunComplexEigvalsh)},
                          {"complex_svd", REPDL_EITHER(RunComplexSvd)},
                          {"complex_svdvals", REPDL_EITHER(RunComplexSvdvals)}};

}  // namespace repdl::reference
