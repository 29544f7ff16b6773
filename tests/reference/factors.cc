// SPDX-License-Identifier: MIT
// Factors of matrices and systems of equations, element by element in double.
#include <algorithm>
#include <cmath>
#include <utility>

#include "functions.h"
#include "matrices.h"

namespace repdl::reference {
namespace {

struct Factored {
  Square lu;
  Indices pivots;
  int64_t info = 0;
};

Factored Factorize(Square a, bool pivot) {
  Factored result;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t chosen = k;
    for (int64_t i = k + 1; pivot && i < a.rows; ++i) {
      const double best = std::fabs(a(chosen, k)), size = std::fabs(a(i, k));
      if (size > best || (std::isnan(size) && !std::isnan(best))) chosen = i;
    }
    for (int64_t j = 0; j < a.columns; ++j) std::swap(a(k, j), a(chosen, j));
    result.pivots.push_back(chosen + 1);
    if (a(k, k) == 0 && result.info == 0) result.info = k + 1;
    for (int64_t i = k + 1; i < a.rows; ++i) {
      if (a(k, k) != 0) a(i, k) = a(i, k) / a(k, k);
      for (int64_t j = k + 1; j < a.columns; ++j) a(i, j) = std::fma(-a(i, k), a(k, j), a(i, j));
    }
  }
  result.lu = a;
  return result;
}

/// Changes b into x of A x = b.
void SolveTriangle(Square& a, bool upper, bool unit, Doubles& b) {
  for (int64_t step = 0; step < a.rows; ++step) {
    const int64_t i = upper ? a.rows - 1 - step : step;
    for (int64_t done = 0; done < step; ++done) {
      const int64_t k = upper ? a.rows - 1 - done : done;
      b[i] = std::fma(-a(i, k), b[k], b[i]);
    }
    if (!unit) b[i] = b[i] / a(i, i);
  }
}

void SolveFactored(Square lu, const Indices& pivots, bool adjoint, Doubles& b) {
  const auto n = static_cast<int64_t>(b.size());
  if (adjoint) {
    Square transposed = lu.Transposed();
    SolveTriangle(transposed, false, false, b);
    SolveTriangle(transposed, true, true, b);
    for (int64_t k = n - 1; k >= 0; --k) {
      if (pivots[k] > 0) std::swap(b[k], b[pivots[k] - 1]);
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    if (pivots[k] > 0) std::swap(b[k], b[pivots[k] - 1]);
  }
  SolveTriangle(lu, false, true, b);
  SolveTriangle(lu, true, false, b);
}

/// solve(n, b) changes each row b of matrix n.
template <class Solve>
void ForRows(std::vector<Square>& rows, const Solve& solve) {
  for (size_t n = 0; n < rows.size(); ++n) {
    Square& matrix = rows[n];
    for (int64_t r = 0; r < matrix.rows; ++r) {
      const auto first = matrix.at.begin() + r * matrix.columns;
      Doubles b(first, first + matrix.columns);
      solve(n, b);
      std::copy(b.begin(), b.end(), first);
    }
  }
}

std::vector<Doubles> RowsOf(const Square& matrix) {
  std::vector<Doubles> rows;
  for (int64_t i = 0; i < matrix.rows; ++i) {
    const auto first = matrix.at.begin() + i * matrix.columns;
    rows.emplace_back(first, first + matrix.columns);
  }
  return rows;
}

void SetRows(const std::vector<Doubles>& rows, Square& matrix) {
  matrix.at.clear();
  for (const Doubles& row : rows) matrix.at.insert(matrix.at.end(), row.begin(), row.end());
}

}  // namespace

namespace {

struct Reflections {
  std::vector<Doubles> columns;  // of R, and behind the diagonal the reflections
  Doubles tau;
  Indices order;
};

/// The exponent by which numbers are scaled that have this largest one.
int ExponentFor(double largest) {
  if (largest == 0 || std::isinf(largest) || std::abs(std::ilogb(largest)) <= 480) return 0;
  return std::max(-1000, std::min(1000, std::ilogb(largest)));
}

Reflections ReflectionsOf(Square a, bool pivot) {
  Square transposed = a.Transposed();
  Reflections found{RowsOf(transposed), {}, {}};
  std::vector<Doubles>& columns = found.columns;
  std::vector<int> exponents;
  double of_matrix = 0;
  for (const Doubles& column : columns) {
    double largest = 0;
    for (const double x : column) largest = std::fmax(largest, std::fabs(x));
    of_matrix = std::fmax(of_matrix, largest);
    exponents.push_back(ExponentFor(largest));
  }
  if (pivot) exponents.assign(columns.size(), ExponentFor(of_matrix));
  for (size_t j = 0; j < columns.size(); ++j) {
    for (double& x : columns[j]) x = std::ldexp(x, -exponents[j]);
  }
  Indices& order = found.order;
  for (int64_t j = 0; j < a.columns; ++j) order.push_back(j);
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    int64_t chosen = j;
    for (int64_t c = j + 1; pivot && c < a.columns; ++c) {
      const double best = SquaresFrom(columns[chosen], j), size = SquaresFrom(columns[c], j);
      if (size > best || (std::isnan(size) && !std::isnan(best))) chosen = c;
    }
    std::swap(columns[j], columns[chosen]);
    std::swap(order[j], order[chosen]);
    Doubles& v = columns[j];
    const double d = SquaresFrom(v, j + 1), head = v[j];
    double tau = 0;
    if (d != 0) {
      const double s = std::sqrt(std::fma(head, head, d)), r = head < 0 ? s : -s;
      tau = (r - head) / r;
      for (size_t i = j + 1; i < v.size(); ++i) v[i] = v[i] / (head - r);
      v[j] = r;
    }
    found.tau.push_back(tau);
    for (int64_t c = j + 1; c < a.columns; ++c) Reflect(v, tau, j, columns[c]);
  }
  for (size_t j = 0; j < columns.size(); ++j) {
    for (size_t i = 0; i <= j && i < columns[j].size(); ++i) columns[j][i] = std::ldexp(columns[j][i], exponents[j]);
  }
  return found;
}

}  // namespace

template <class T>
static Results RunGeqrf(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> factors;
  Numbers<T> taus;
  Indices orders;
  for (const Square& a : MatricesOf<T>(args, "input")) {
    const Reflections found = ReflectionsOf(a, args.Flag("pivot"));
    Square transposed{a.columns, a.rows, {}};
    SetRows(found.columns, transposed);
    factors.push_back(transposed);
    for (double tau : found.tau) taus.push_back(static_cast<T>(tau));
    orders.insert(orders.end(), found.order.begin(), found.order.end());
  }
  Results results;
  Append<T>(results, factors, args.OutputShape());
  reference::Append(results, taus, args.OutputShape(1));
  Append(results, orders, args.OutputShape(2));
  return results;
}

/// Row j of the result is Q times row j of the identity.
static Square ColumnsOfQ(const std::vector<Doubles>& vectors, const Doubles& tau, int64_t columns, int64_t m) {
  Square q{columns, m, {}};
  for (int64_t row = 0; row < columns; ++row) {
    Doubles x(m);
    x[row] = 1;
    for (auto j = static_cast<int64_t>(tau.size()) - 1; j >= 0; --j) Reflect(vectors[j], tau[j], j, x);
    q.at.insert(q.at.end(), x.begin(), x.end());
  }
  return q;
}

template <class T>
static Results RunQr(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> qs, rs;
  for (const Square& a : MatricesOf<T>(args, "input")) {
    const Reflections found = ReflectionsOf(a, false);
    const int64_t k = args.Flag("complete") ? a.rows : std::min(a.rows, a.columns);
    qs.push_back(ColumnsOfQ(found.columns, found.tau, k, a.rows));
    rs.push_back({a.columns, k, {}});
    for (int64_t j = 0; j < a.columns; ++j) {
      for (int64_t i = 0; i < k; ++i) rs.back().at.push_back(i <= j ? found.columns[j][i] : 0);
    }
  }
  Results results;
  Append<T>(results, qs, args.OutputShape());
  Append<T>(results, rs, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunOrgqr(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> tau = args.NumbersOf<T>("tau");
  const IntList shape = args.Shape("tau");
  const int64_t count = shape[shape.size() - 1];
  std::vector<Square> qs;
  for (const Square& factors : MatricesOf<T>(args, "factors")) {
    const auto first = tau.begin() + static_cast<int64_t>(qs.size()) * count;
    qs.push_back(ColumnsOfQ(RowsOf(factors), Doubles(first, first + count), args.Int("columns"), factors.columns));
  }
  Results results;
  Append<T>(results, qs, args.OutputShape());
  return results;
}

template <class T>
static Results RunHouseholder(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> factors = MatricesOf<T>(args, "factors"), rows = MatricesOf<T>(args, "rows");
  const Numbers<T> tau = args.NumbersOf<T>("tau");
  const IntList shape = args.Shape("tau");
  const int64_t count = shape[shape.size() - 1];
  const bool adjoint = args.Flag("adjoint");
  ForRows(rows, [&](size_t n, Doubles& x) {
    const std::vector<Doubles> vectors = RowsOf(factors[n]);
    for (int64_t step = 0; step < count; ++step) {
      const int64_t j = adjoint ? step : count - 1 - step;
      Reflect(vectors[j], tau[static_cast<int64_t>(n) * count + j], j, x);
    }
  });
  Results results;
  Append<T>(results, rows, args.OutputShape());
  return results;
}

/// The shortest x of A x = b for the first of the numbers of b, A with no more rows than columns.
static Doubles Shortest(Square& a, const Doubles& b) {
  const Reflections across = ReflectionsOf(a.Transposed(), false);
  Square lower{a.rows, a.rows, {}};
  for (const Doubles& column : across.columns) {
    lower.at.insert(lower.at.end(), column.begin(), column.begin() + a.rows);
  }
  Doubles x(b.begin(), b.begin() + a.rows);
  SolveTriangle(lower, false, false, x);
  x.resize(a.columns);
  for (int64_t j = a.rows - 1; j >= 0; --j) Reflect(across.columns[j], across.tau[j], j, x);
  return x;
}

template <class T>
static Results RunLstsq(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> rows = MatricesOf<T>(args, "rows"), solutions;
  Indices ranks;
  const bool pivot = args.Flag("pivot");
  for (Square& a : MatricesOf<T>(args, "input")) {
    Square& sides = rows[solutions.size()];
    const int64_t n = a.columns, least = std::min(a.rows, n);
    const Reflections found = ReflectionsOf(a, pivot);
    int64_t rank = 0;
    while (rank < least &&
           (!pivot || std::fabs(found.columns[rank][rank]) > std::fabs(found.columns[0][0]) * args.Number("rcond"))) {
      ++rank;
    }
    Square r{rank, n, Doubles(rank * n)};
    for (int64_t i = 0; i < rank; ++i) {
      for (int64_t j = i; j < n; ++j) r(i, j) = found.columns[j][i];
    }
    solutions.push_back({sides.rows, n, {}});
    for (Doubles y : RowsOf(sides)) {
      Doubles x(n), in_order(n);
      if (pivot || a.rows >= n) {
        for (int64_t j = 0; j < least; ++j) Reflect(found.columns[j], found.tau[j], j, y);
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
  Append<T>(results, solutions, args.OutputShape());
  Append(results, ranks, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunCholesky(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> factors;
  Indices info;
  for (Square& a : MatricesOf<T>(args, "input")) {
    const int64_t n = a.rows;
    Square u{n, n, Doubles(n * n)};
    int64_t failed = 0;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) {
        double chain = a(i, j);
        for (int64_t k = 0; k < j; ++k) chain = std::fma(-u(k, j), u(k, i), chain);
        if (i == j && failed == 0 && !(chain > 0)) failed = j + 1;
        u(j, i) = i == j ? std::sqrt(chain) : chain / u(j, j);
      }
    }
    factors.push_back(u);
    info.push_back(failed);
  }
  Results results;
  Append<T>(results, factors, args.OutputShape());
  Append(results, info, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunSolveTriangular(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> a = MatricesOf<T>(args, "input"), rows = MatricesOf<T>(args, "rows");
  ForRows(rows, [&](size_t n, Doubles& b) { SolveTriangle(a[n], args.Flag("upper"), args.Flag("unitriangular"), b); });
  Results results;
  Append<T>(results, rows, args.OutputShape());
  return results;
}

template <class T>
static Results RunCholeskySolve(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> factors = MatricesOf<T>(args, "factor"), rows = MatricesOf<T>(args, "rows");
  ForRows(rows, [&](size_t n, Doubles& b) {
    Square transposed = factors[n].Transposed();
    SolveTriangle(factors[n], false, false, b);
    SolveTriangle(transposed, true, false, b);
  });
  Results results;
  Append<T>(results, rows, args.OutputShape());
  return results;
}

template <class T>
static Results RunLuSolve(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> factors = MatricesOf<T>(args, "factors"), rows = MatricesOf<T>(args, "rows");
  const Indices pivots = args.IndicesOf("pivots");
  ForRows(rows, [&](size_t n, Doubles& b) {
    const auto first = pivots.begin() + static_cast<int64_t>(n * b.size());
    SolveFactored(factors[n].Transposed(), Indices(first, first + static_cast<int64_t>(b.size())), args.Flag("adjoint"),
                  b);
  });
  Results results;
  Append<T>(results, rows, args.OutputShape());
  return results;
}

template <class T>
static Results RunLu(const Case& test_case, bool pivot, bool solves, bool inverts) {
  const Arguments args(test_case);
  std::vector<Square> factors, rows;
  std::vector<Factored> factored;
  Indices pivots, info;
  for (const Square& a : MatricesOf<T>(args, "input")) {
    factored.push_back(Factorize(a, pivot));
    factors.push_back(factored.back().lu.Transposed());
    pivots.insert(pivots.end(), factored.back().pivots.begin(), factored.back().pivots.end());
    info.push_back(factored.back().info);
    Square identity{a.rows, a.columns, Doubles(a.at.size())};
    for (int64_t i = 0; inverts && i < a.rows; ++i) identity(i, i) = 1;
    rows.push_back(identity);
  }
  if (solves) rows = MatricesOf<T>(args, "rows");
  if (solves || inverts) {
    ForRows(rows, [&](size_t n, Doubles& b) { SolveFactored(factored[n].lu, factored[n].pivots, false, b); });
  }
  Results results;
  int output = 0;
  if (solves || inverts) Append<T>(results, rows, args.OutputShape(output++));
  if (!inverts) {
    Append<T>(results, factors, args.OutputShape(output++));
    Append(results, pivots, args.OutputShape(output++));
  }
  Append(results, info, args.OutputShape(output));
  return results;
}

template <class T>
static Results RunDet(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> factors;
  Numbers<T> dets, signs;
  Indices pivots;
  for (const Square& a : MatricesOf<T>(args, "input")) {
    Factored factored = Factorize(a, true);
    double sign = 1;
    for (int64_t k = 0; k < a.rows; ++k) sign = factored.pivots[k] == k + 1 ? sign : -sign;
    double det = sign;
    for (int64_t k = 0; k < a.rows; ++k) det = det * factored.lu(k, k);
    dets.push_back(static_cast<T>(det));
    signs.push_back(static_cast<T>(sign));
    factors.push_back(factored.lu.Transposed());
    pivots.insert(pivots.end(), factored.pivots.begin(), factored.pivots.end());
  }
  Results results;
  reference::Append(results, dets, args.OutputShape());
  reference::Append(results, signs, args.OutputShape(1));
  Append<T>(results, factors, args.OutputShape(2));
  Append(results, pivots, args.OutputShape(3));
  return results;
}

template <class T>
static Results RunSlogdet(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Square> factors;
  Numbers<T> signs, logs;
  Indices pivots;
  for (const Square& a : MatricesOf<T>(args, "input")) {
    Factored factored = Factorize(a, true);
    double sign = 1, log = 0;
    for (int64_t k = 0; k < a.rows; ++k) {
      const double u = factored.lu(k, k);
      if (factored.pivots[k] != k + 1) sign = -sign;
      sign = sign * (u > 0 ? 1 : u < 0 ? -1 : u);
      log = log + Log(std::fabs(u));
    }
    signs.push_back(static_cast<T>(sign));
    logs.push_back(static_cast<T>(log));
    factors.push_back(factored.lu.Transposed());
    pivots.insert(pivots.end(), factored.pivots.begin(), factored.pivots.end());
  }
  Results results;
  reference::Append(results, signs, args.OutputShape());
  reference::Append(results, logs, args.OutputShape(1));
  Append<T>(results, factors, args.OutputShape(2));
  Append(results, pivots, args.OutputShape(3));
  return results;
}

template <class T>
static Results RunLuAlone(const Case& test_case) {
  return RunLu<T>(test_case, Arguments(test_case).Flag("pivot"), false, false);
}
template <class T>
static Results RunSolve(const Case& test_case) {
  return RunLu<T>(test_case, true, true, false);
}
template <class T>
static Results RunInv(const Case& test_case) {
  return RunLu<T>(test_case, true, false, true);
}

static const Op kOps[] = {{"cholesky", REPDL_EITHER(RunCholesky)},
                          {"cholesky_solve", REPDL_EITHER(RunCholeskySolve)},
                          {"det", REPDL_EITHER(RunDet)},
                          {"geqrf", REPDL_EITHER(RunGeqrf)},
                          {"householder", REPDL_EITHER(RunHouseholder)},
                          {"inv", REPDL_EITHER(RunInv)},
                          {"lstsq", REPDL_EITHER(RunLstsq)},
                          {"lu", REPDL_EITHER(RunLuAlone)},
                          {"lu_solve", REPDL_EITHER(RunLuSolve)},
                          {"orgqr", REPDL_EITHER(RunOrgqr)},
                          {"qr", REPDL_EITHER(RunQr)},
                          {"slogdet", REPDL_EITHER(RunSlogdet)},
                          {"solve", REPDL_EITHER(RunSolve)},
                          {"solve_triangular", REPDL_EITHER(RunSolveTriangular)}};

}  // namespace repdl::reference
