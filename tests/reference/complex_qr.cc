// SPDX-License-Identifier: MIT
// Householder's reflections of complex matrices, element by element in double.
#include <algorithm>
#include <cmath>
#include <utility>

#include "complex_matrices.h"

namespace repdl::reference {
namespace {

/// x becomes H x, or Hᴴ x, for the reflection of v and tau from place j on.
void Reflect(const Pairs& v, Complex tau, bool adjoint, int64_t j, Pairs& x) {
  Complex w = x[j];
  for (size_t i = j + 1; i < x.size(); ++i) {
    w.re = std::fma(v[i].im, x[i].im, std::fma(v[i].re, x[i].re, w.re));
    w.im = std::fma(-v[i].im, x[i].re, std::fma(v[i].re, x[i].im, w.im));
  }
  const Complex t = Times(adjoint ? Conjugate(tau) : tau, w);
  x[j] = Minus(x[j], t);
  for (size_t i = j + 1; i < x.size(); ++i) x[i] = Less(x[i], v[i], t);
}

double SquaresOf(const Pairs& x, int64_t first) {
  double sum = 0;
  for (size_t i = first; i < x.size(); ++i) sum = std::fma(x[i].im, x[i].im, std::fma(x[i].re, x[i].re, sum));
  return sum;
}

std::vector<Pairs> RowsOf(const Grid& grid) {
  std::vector<Pairs> rows;
  for (int64_t i = 0; i < grid.rows; ++i) {
    const auto first = grid.at.begin() + i * grid.columns;
    rows.emplace_back(first, first + grid.columns);
  }
  return rows;
}

struct Reflections {
  std::vector<Pairs> columns;  // of R, and behind the diagonal the reflections
  Pairs tau;
  Indices order;
};

int ExponentFor(double largest) {
  if (largest == 0 || std::isinf(largest) || std::abs(std::ilogb(largest)) <= 480) return 0;
  return std::max(-1000, std::min(1000, std::ilogb(largest)));
}

Complex Scaled(Complex x, int exponent) { return {std::ldexp(x.re, exponent), std::ldexp(x.im, exponent)}; }

Reflections ReflectionsOf(Grid a, bool pivot) {
  Reflections found{RowsOf(a.Transposed()), {}, {}};
  std::vector<Pairs>& columns = found.columns;
  std::vector<int> exponents;
  double of_matrix = 0;
  for (const Pairs& column : columns) {
    double largest = 0;
    for (const Complex& x : column) largest = std::fmax(std::fmax(largest, std::fabs(x.re)), std::fabs(x.im));
    of_matrix = std::fmax(of_matrix, largest);
    exponents.push_back(ExponentFor(largest));
  }
  if (pivot) exponents.assign(columns.size(), ExponentFor(of_matrix));
  for (size_t j = 0; j < columns.size(); ++j) {
    for (Complex& x : columns[j]) x = Scaled(x, -exponents[j]);
    found.order.push_back(static_cast<int64_t>(j));
  }
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    int64_t chosen = j;
    for (int64_t c = j + 1; pivot && c < a.columns; ++c) {
      const double best = SquaresOf(columns[chosen], j), size = SquaresOf(columns[c], j);
      if (size > best || (std::isnan(size) && !std::isnan(best))) chosen = c;
    }
    std::swap(columns[j], columns[chosen]);
    std::swap(found.order[j], found.order[chosen]);
    Pairs& v = columns[j];
    const Complex head = v[j];
    const double d = std::fma(head.im, head.im, SquaresOf(v, j + 1));
    Complex tau{0, 0};
    v[j].im = 0;
    if (d != 0) {
      const double s = std::sqrt(std::fma(head.re, head.re, d)), r = head.re < 0 ? s : -s;
      tau = {(r - head.re) / r, -(head.im / r)};
      for (size_t i = j + 1; i < v.size(); ++i) v[i] = Over(v[i], {head.re - r, head.im});
      v[j].re = r;
    }
    found.tau.push_back(tau);
    for (int64_t c = j + 1; c < a.columns; ++c) Reflect(v, tau, true, j, columns[c]);
  }
  for (size_t j = 0; j < columns.size(); ++j) {
    for (size_t i = 0; i <= j && i < columns[j].size(); ++i) columns[j][i] = Scaled(columns[j][i], exponents[j]);
  }
  return found;
}

/// Q x, or Qᴴ x.
void ReflectAll(const std::vector<Pairs>& vectors, const Pairs& tau, bool adjoint, Pairs& x) {
  const auto count = static_cast<int64_t>(tau.size());
  for (int64_t step = 0; step < count; ++step) {
    const int64_t j = adjoint ? step : count - 1 - step;
    Reflect(vectors[j], tau[j], adjoint, j, x);
  }
}

/// Row j is column j of Q.
Grid ColumnsOfQ(const std::vector<Pairs>& vectors, const Pairs& tau, int64_t columns, int64_t m) {
  Grid q{columns, m, {}};
  for (int64_t row = 0; row < columns; ++row) {
    Pairs x(m);
    x[row] = {1, 0};
    ReflectAll(vectors, tau, false, x);
    q.at.insert(q.at.end(), x.begin(), x.end());
  }
  return q;
}

/// The factors of the reflections of each matrix.
template <class T>
std::vector<Pairs> TausOf(const Arguments& args, size_t batch) {
  const Numbers<T> numbers = args.NumbersOf<T>("tau");
  const IntList shape = args.Shape("tau");
  const int64_t count = shape[shape.size() - 2];
  std::vector<Pairs> taus(batch);
  for (size_t n = 0; n < batch; ++n) {
    for (int64_t i = static_cast<int64_t>(n) * count; i < static_cast<int64_t>(n + 1) * count; ++i) {
      taus[n].push_back({numbers[2 * i], numbers[2 * i + 1]});
    }
  }
  return taus;
}

}  // namespace

template <class T>
static Results RunComplexGeqrf(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Grid> factors;
  Numbers<T> taus;
  Indices orders;
  for (const Grid& a : GridsOf<T>(args, "input")) {
    const Reflections found = ReflectionsOf(a, args.Flag("pivot"));
    factors.push_back({a.columns, a.rows, {}});
    for (const Pairs& column : found.columns) {
      factors.back().at.insert(factors.back().at.end(), column.begin(), column.end());
    }
    for (const Complex& tau : found.tau) Put(tau, taus);
    orders.insert(orders.end(), found.order.begin(), found.order.end());
  }
  Results results;
  AppendGrids<T>(results, factors, args.OutputShape());
  Append(results, taus, args.OutputShape(1));
  Append(results, orders, args.OutputShape(2));
  return results;
}

template <class T>
static Results RunComplexQr(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Grid> qs, rs;
  for (const Grid& a : GridsOf<T>(args, "input")) {
    const Reflections found = ReflectionsOf(a, false);
    const int64_t k = args.Flag("complete") ? a.rows : std::min(a.rows, a.columns);
    qs.push_back(ColumnsOfQ(found.columns, found.tau, k, a.rows));
    rs.push_back({a.columns, k, {}});
    for (int64_t j = 0; j < a.columns; ++j) {
      for (int64_t i = 0; i < k; ++i) rs.back().at.push_back(i <= j ? found.columns[j][i] : Complex{0, 0});
    }
  }
  Results results;
  AppendGrids<T>(results, qs, args.OutputShape());
  AppendGrids<T>(results, rs, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunComplexOrgqr(const Case& test_case) {
  const Arguments args(test_case);
  const std::vector<Grid> factors = GridsOf<T>(args, "factors");
  const std::vector<Pairs> taus = TausOf<T>(args, factors.size());
  std::vector<Grid> qs;
  for (size_t n = 0; n < factors.size(); ++n) {
    qs.push_back(ColumnsOfQ(RowsOf(factors[n]), taus[n], args.Int("columns"), factors[n].columns));
  }
  Results results;
  AppendGrids<T>(results, qs, args.OutputShape());
  return results;
}

template <class T>
static Results RunComplexHouseholder(const Case& test_case) {
  const Arguments args(test_case);
  const std::vector<Grid> factors = GridsOf<T>(args, "factors"), rows = GridsOf<T>(args, "rows");
  const std::vector<Pairs> taus = TausOf<T>(args, factors.size());
  std::vector<Grid> turned;
  for (size_t n = 0; n < factors.size(); ++n) {
    turned.push_back({rows[n].rows, rows[n].columns, {}});
    for (Pairs x : RowsOf(rows[n])) {
      ReflectAll(RowsOf(factors[n]), taus[n], args.Flag("adjoint"), x);
      turned.back().at.insert(turned.back().at.end(), x.begin(), x.end());
    }
  }
  Results results;
  AppendGrids<T>(results, turned, args.OutputShape());
  return results;
}

/// The conjugates of a matrix, transposed.
static Grid Adjoint(Grid a) {
  Grid result = a.Transposed();
  for (Complex& x : result.at) x = Conjugate(x);
  return result;
}

/// The shortest x of A x = b for the first of the numbers of b, A with no more rows than columns.
static Pairs Shortest(const Grid& a, const Pairs& b) {
  const Reflections across = ReflectionsOf(Adjoint(a), false);
  Grid lower{a.rows, a.rows, {}};
  for (const Pairs& column : across.columns) {
    for (int64_t i = 0; i < a.rows; ++i) lower.at.push_back(Conjugate(column[i]));
  }
  Pairs x(b.begin(), b.begin() + a.rows);
  SolveTriangle(lower, false, false, x);
  x.resize(a.columns);
  ReflectAll(across.columns, across.tau, false, x);
  return x;
}

template <class T>
static Results RunComplexLstsq(const Case& test_case) {
  const Arguments args(test_case);
  const std::vector<Grid> rows = GridsOf<T>(args, "rows");
  std::vector<Grid> solutions;
  Indices ranks;
  const bool pivot = args.Flag("pivot");
  for (const Grid& a : GridsOf<T>(args, "input")) {
    const Grid& sides = rows[solutions.size()];
    const int64_t n = a.columns, least = std::min(a.rows, n);
    const Reflections found = ReflectionsOf(a, pivot);
    int64_t rank = 0;
    while (rank < least && (!pivot || std::fabs(found.columns[rank][rank].re) >
                                          std::fabs(found.columns[0][0].re) * args.Number("rcond"))) {
      ++rank;
    }
    Grid r{rank, n, Pairs(rank * n)};
    for (int64_t i = 0; i < rank; ++i) {
      for (int64_t j = i; j < n; ++j) r(i, j) = found.columns[j][i];
    }
    solutions.push_back({sides.rows, n, {}});
    for (Pairs y : RowsOf(sides)) {
      Pairs x(n), in_order(n);
      if (pivot || a.rows >= n) {
        ReflectAll(found.columns, found.tau, true, y);
        if (rank > 0 && rank < n) x = Shortest(r, y);
        if (rank == n) {
          x.assign(y.begin(), y.begin() + n);
          SolveTriangle(r, true, false, x);
        }
      } else if (rank > 0) {
        x = Shortest(a, y);
      }
      for (int64_t j = 0; j < n; ++j) in_order[found.order[j]] = x[j];
      solutions.back().at.insert(solutions.back().at.end(), in_order.begin(), in_order.end());
    }
    ranks.push_back(rank);
  }
  Results results;
  AppendGrids<T>(results, solutions, args.OutputShape());
  Append(results, ranks, args.OutputShape(1));
  return results;
}

static const Op kOps[] = {{"complex_geqrf", REPDL_EITHER(RunComplexGeqrf)},
                          {"complex_householder", REPDL_EITHER(RunComplexHouseholder)},
                          {"complex_lstsq", REPDL_EITHER(RunComplexLstsq)},
                          {"complex_orgqr", REPDL_EITHER(RunComplexOrgqr)},
                          {"complex_qr", REPDL_EITHER(RunComplexQr)}};

}  // namespace repdl::reference
