// SPDX-License-Identifier: MIT
// Eigenvalues and singular values, rotation by rotation in double.
#include <limits>
#include <numeric>
#include <optional>

#include "sweeps.h"

namespace repdl::reference {
namespace {

/// The exponent of the power of 2 above all numbers, or nothing where one is not finite.
std::optional<int> ExponentOf(const Square& a) {
  double largest = 0;
  for (double x : a.at) {
    if (!std::isfinite(x)) return std::nullopt;
    largest = std::max(largest, std::fabs(x));
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  return exponent;
}

void ScaleDown(Square& a, int exponent) {
  const int half = static_cast<int>(std::floor(exponent / 2.0));
  for (double& x : a.at) x = std::ldexp(std::ldexp(x, -half), half - exponent);
}

struct Reflection {
  Doubles v;  // as long as the vectors that are reflected
  double tau = 0;
  int64_t first;
  double result;
};

/// That of the numbers of x from `first` on.
Reflection ReflectionOf(const Doubles& x, int64_t first) {
  Reflection r{Doubles(x.size()), 0, first, x[first]};
  const double below = SquaresFrom(x, first + 1), head = x[first];
  if (below <= kTiny * kTiny) return r;
  const double size = std::sqrt(std::fma(head, head, below));
  r.result = head < 0 ? size : -size;
  r.tau = (r.result - head) / r.result;
  for (size_t i = first + 1; i < x.size(); ++i) r.v[i] = x[i] / (head - r.result);
  r.v[first] = 1;
  return r;
}

void Apply(const Reflection& r, Doubles& x) {
  if (r.tau != 0) Reflect(r.v, r.tau, r.first, x);
}

/// The columns of the matrix whose rows are those of the identity, reflected and then rotated.
std::vector<Doubles> Columns(int64_t n, const std::vector<Reflection>& reflections,
                             const std::vector<Rotation>& rotations) {
  std::vector<Doubles> columns(n, Doubles(n));
  for (int64_t row = 0; row < n; ++row) {
    Doubles z(n);
    z[row] = 1;
    for (const Reflection& r : reflections) Apply(r, z);
    for (const Rotation& r : rotations) {
      const double a = z[r.place], b = z[r.place + 1], sa = r.s * a, sb = r.s * b;
      z[r.place] = std::fma(r.c, a, sb);
      z[r.place + 1] = std::fma(r.c, b, -sa);
    }
    for (int64_t j = 0; j < n; ++j) columns[j][row] = z[j];
  }
  return columns;
}

double SignOf(const Doubles& x) {
  double largest = 0;
  for (double value : x) {
    if (std::fabs(value) > std::fabs(largest)) largest = value;
  }
  return largest < 0 ? -1 : 1;
}

void Multiply(Doubles& x, double by) {
  for (double& value : x) value = value * by + 0.0;
}

struct Eigen {
  Doubles values;
  std::vector<Doubles> vectors;
  int64_t info;
};

Eigen EigenOf(Square a) {
  const int64_t n = a.rows;
  const std::optional<int> exponent = ExponentOf(a);
  if (!exponent) {
    const Doubles nans(n, std::numeric_limits<double>::quiet_NaN());
    return {nans, std::vector<Doubles>(n, nans), -1};
  }
  ScaleDown(a, *exponent);
  Doubles d(n), e(n == 0 ? 0 : n - 1);
  std::vector<Reflection> reflections;
  for (int64_t k = 0; k < n; ++k) {
    d[k] = a(k, k);
    if (k + 1 == n) break;
    Doubles x(n);
    for (int64_t j = 0; j < n; ++j) x[j] = a(k, j);
    const Reflection r = ReflectionOf(x, k + 1);
    e[k] = r.result;
    if (r.tau == 0) continue;
    reflections.push_back(r);
    Doubles p(n), w(n);
    double g = 0;
    for (int64_t j = k + 1; j < n; ++j) {
      double y = 0;
      for (int64_t i = k + 1; i < n; ++i) y = std::fma(r.v[i], a(i, j), y);
      p[j] = r.tau * y;
      g = std::fma(p[j], r.v[j], g);
    }
    const double h = (r.tau * 0.5) * g;
    for (int64_t j = k + 1; j < n; ++j) w[j] = std::fma(-h, r.v[j], p[j]);
    for (int64_t i = k + 1; i < n; ++i) {
      for (int64_t j = k + 1; j < n; ++j) a(i, j) = std::fma(-w[i], r.v[j], std::fma(-r.v[i], w[j], a(i, j)));
    }
  }
  std::vector<Rotation> rotations;
  const int64_t info = DiagonalizeTridiagonal(d, e, rotations);
  std::vector<Doubles> columns = Columns(n, reflections, rotations);
  Indices order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return d[x] < d[y]; });
  Eigen result{{}, {}, info};
  for (int64_t j : order) {
    result.values.push_back(Shifted(d[j], *exponent) + 0.0);
    Multiply(columns[j], SignOf(columns[j]));
    result.vectors.push_back(columns[j]);
  }
  return result;
}

struct Singular {
  std::vector<Doubles> u, v;
  Doubles s;
  int64_t info;
};

/// Of a square matrix, but for the signs and places.
Singular OfSquare(Square a) {
  const int64_t n = a.rows;
  Doubles d(n), e(n == 0 ? 0 : n - 1);
  std::vector<Reflection> left, right;
  for (int64_t k = 0; k < n; ++k) {
    Square columns = a.Transposed();
    const auto column = [&](int64_t j) {
      return Doubles(columns.at.begin() + j * n, columns.at.begin() + (j + 1) * n);
    };
    const Reflection r = ReflectionOf(column(k), k);
    left.push_back(r);
    d[k] = r.result;
    for (int64_t j = k + 1; j < n; ++j) {
      Doubles x = column(j);
      Apply(r, x);
      for (int64_t i = 0; i < n; ++i) a(i, j) = x[i];
    }
    if (k + 1 == n) break;
    Doubles row(n);
    for (int64_t j = 0; j < n; ++j) row[j] = a(k, j);
    const Reflection of_row = ReflectionOf(row, k + 1);
    right.push_back(of_row);
    e[k] = of_row.result;
    for (int64_t i = k + 1; of_row.tau != 0 && i < n; ++i) {
      double lane[16] = {};
      for (int64_t j = 0; j < n - k - 1; ++j) {
        lane[j % 16] = std::fma(a(i, k + 1 + j), of_row.v[k + 1 + j], lane[j % 16]);
      }
      for (int h = 8; h >= 1; h /= 2) {
        for (int j = 0; j < h; ++j) lane[j] = lane[j] + lane[j + h];
      }
      const double q = of_row.tau * lane[0];
      for (int64_t j = k + 1; j < n; ++j) a(i, j) = std::fma(-q, of_row.v[j], a(i, j));
    }
  }
  std::vector<Rotation> of_u, of_v;
  const int64_t info = DiagonalizeBidiagonal(d, e, of_u, of_v);
  return {Columns(n, left, of_u), Columns(n, right, of_v), d, info};
}

Singular SingularOf(Square a, bool full) {
  const bool wide = a.rows < a.columns;
  if (wide) a = a.Transposed();
  const int64_t m = a.rows, n = a.columns, num_u = full ? m : n;
  const std::optional<int> exponent = ExponentOf(a);
  Singular result;
  if (!exponent) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    result = {std::vector<Doubles>(num_u, Doubles(m, nan)), std::vector<Doubles>(n, Doubles(n, nan)), Doubles(n, nan),
              -1};
  } else {
    ScaleDown(a, *exponent);
    std::vector<Reflection> of_q;
    Square r{n, n, Doubles(n * n)};
    if (m > n) {
      Square columns = a.Transposed();
      std::vector<Doubles> x;
      for (int64_t j = 0; j < n; ++j) x.emplace_back(columns.at.begin() + j * m, columns.at.begin() + (j + 1) * m);
      for (int64_t j = 0; j < n; ++j) {
        of_q.push_back(ReflectionOf(x[j], j));
        for (int64_t i = 0; i < j; ++i) r(i, j) = x[j][i];
        r(j, j) = of_q[j].result;
        for (int64_t other = j + 1; other < n; ++other) Apply(of_q[j], x[other]);
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
      Doubles u(m);
      if (j < n) {
        const int64_t place = order[j];
        std::copy(found.u[place].begin(), found.u[place].end(), u.begin());
        if (found.s[place] < 0) Multiply(found.v[place], -1);
        result.v.push_back(found.v[place]);
        result.s.push_back(Shifted(std::fabs(found.s[place]), *exponent));
      } else {
        u[j] = 1;
      }
      for (auto reflection = of_q.rbegin(); reflection != of_q.rend(); ++reflection) Apply(*reflection, u);
      const double sign = SignOf(wide && j < n ? result.v[j] : u);
      Multiply(u, sign);
      if (j < n) Multiply(result.v[j], sign);
      result.u.push_back(u);
    }
  }
  if (wide) std::swap(result.u, result.v);
  return result;
}

Square RowsToMatrix(const std::vector<Doubles>& rows, int64_t columns) {
  Square matrix{static_cast<int64_t>(rows.size()), columns, {}};
  for (const Doubles& row : rows) matrix.at.insert(matrix.at.end(), row.begin(), row.end());
  return matrix;
}

template <class T>
Results RunEigh(const Case& test_case, bool vectors) {
  const Arguments args(test_case);
  Numbers<T> values;
  std::vector<Square> found;
  Indices info;
  for (Square& a : MatricesOf<T>(args, "input")) {
    Square lower = args.Flag("upper") ? a.Transposed() : a;
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = i + 1; j < a.rows; ++j) lower(i, j) = lower(j, i);
    }
    const Eigen eigen = EigenOf(lower);
    for (double value : eigen.values) values.push_back(static_cast<T>(value));
    found.push_back(RowsToMatrix(eigen.vectors, a.rows));
    info.push_back(eigen.info);
  }
  Results results;
  Append(results, values, args.OutputShape());
  if (vectors) Append<T>(results, found, args.OutputShape(1));
  Append(results, info, args.OutputShape(vectors ? 2 : 1));
  return results;
}

template <class T>
Results RunSvd(const Case& test_case, bool full, bool vectors) {
  const Arguments args(test_case);
  Numbers<T> values;
  std::vector<Square> us, vs;
  Indices info;
  for (const Square& a : MatricesOf<T>(args, "input")) {
    const Singular found = SingularOf(a, full);
    for (double value : found.s) values.push_back(static_cast<T>(value));
    us.push_back(RowsToMatrix(found.u, a.rows));
    vs.push_back(RowsToMatrix(found.v, a.columns).Transposed());
    info.push_back(found.info);
  }
  Results results;
  int output = 0;
  if (vectors) Append<T>(results, us, args.OutputShape(output++));
  Append(results, values, args.OutputShape(output++));
  if (vectors) Append<T>(results, vs, args.OutputShape(output++));
  Append(results, info, args.OutputShape(output));
  return results;
}

Square ProductOf(Square x, Square y) {
  Square result{x.rows, y.columns, Doubles(x.rows * y.columns)};
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < y.columns; ++j) {
      for (int64_t k = 0; k < x.columns; ++k) result(i, j) = std::fma(x(i, k), y(k, j), result(i, j));
    }
  }
  return result;
}

Square ExponentialOf(Square b) {
  const int64_t n = b.rows;
  double norm = 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum = sum + std::fabs(b(i, j));
    if (!std::isfinite(sum)) return {n, n, Doubles(n * n, std::numeric_limits<double>::quiet_NaN())};
    norm = std::max(norm, sum);
  }
  int doublings = 0;
  std::frexp(norm, &doublings);
  doublings = std::max(doublings, 0);
  for (double& x : b.at) x = std::ldexp(x, -doublings);
  std::vector<Square> powers{b, ProductOf(b, b)};
  powers.push_back(ProductOf(powers[1], b));
  powers.push_back(ProductOf(powers[1], powers[1]));
  powers.push_back(ProductOf(powers[2], powers[1]));
  Square sum{n, n, {}};
  for (int64_t group = 3; group >= 0; --group) {
    const Square product = group == 3 ? sum : ProductOf(powers[4], sum);
    sum.at.clear();
    for (int64_t i = 0; i < n * n; ++i) {
      double t = 0;
      for (int64_t power = 5; power >= 1; --power) {
        double factorial = 1;  // of up to 20: exact
        for (int64_t k = 2; k <= 5 * group + power; ++k) factorial *= static_cast<double>(k);
        const double x = powers[power - 1].at[i];
        t = power == 5 ? (1 / factorial) * x : std::fma(1 / factorial, x, t);
      }
      sum.at.push_back(group == 3 ? t : t + product.at[i]);
    }
  }
  for (int64_t i = 0; i < n; ++i) sum(i, i) = 1 + sum(i, i);
  for (int k = 0; k < doublings; ++k) sum = ProductOf(sum, sum);
  for (double& x : sum.at) x = x + 0.0;
  return sum;
}

}  // namespace

template <class T>
static Results RunMatrixExp(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> matrices = MatricesOf<T>(args, "input");
  for (Square& matrix : matrices) matrix = ExponentialOf(matrix);
  Results results;
  Append<T>(results, matrices, args.OutputShape());
  return results;
}
template <class T>
static Results RunEighWithVectors(const Case& test_case) {
  return RunEigh<T>(test_case, true);
}
template <class T>
static Results RunEigvalsh(const Case& test_case) {
  return RunEigh<T>(test_case, false);
}
template <class T>
static Results RunSvdWithVectors(const Case& test_case) {
  return RunSvd<T>(test_case, Arguments(test_case).Flag("full"), true);
}
template <class T>
static Results RunSvdvals(const Case& test_case) {
  return RunSvd<T>(test_case, false, false);
}

static const Op kOps[] = {{"eigh", REPDL_EITHER(RunEighWithVectors)},
                          {"eigvalsh", REPDL_EITHER(RunEigvalsh)},
                          {"matrix_exp", REPDL_EITHER(RunMatrixExp)},
                          {"svd", REPDL_EITHER(RunSvdWithVectors)},
                          {"svdvals", REPDL_EITHER(RunSvdvals)}};

}  // namespace repdl::reference
