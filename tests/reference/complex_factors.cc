// SPDX-License-Identifier: MIT
// Factors of complex matrices and systems of equations, element by element in double.
#include <algorithm>
#include <cmath>
#include <utility>

#include "complex_matrices.h"
#include "functions.h"

namespace repdl::reference {
namespace {

struct Factored {
  Grid lu;
  Indices pivots;
  int64_t info = 0;
};

Factored Factorize(Grid a, bool pivot) {
  Factored result;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t chosen = k;
    for (int64_t i = k + 1; pivot && i < a.rows; ++i) {
      const double best = Size(a(chosen, k)), size = Size(a(i, k));
      if (size > best || (std::isnan(size) && !std::isnan(best))) chosen = i;
    }
    for (int64_t j = 0; j < a.columns; ++j) std::swap(a(k, j), a(chosen, j));
    result.pivots.push_back(chosen + 1);
    const bool is_zero = a(k, k).re == 0 && a(k, k).im == 0;
    if (is_zero && result.info == 0) result.info = k + 1;
    for (int64_t i = k + 1; i < a.rows; ++i) {
      if (!is_zero) a(i, k) = Over(a(i, k), a(k, k));
      for (int64_t j = k + 1; j < a.columns; ++j) a(i, j) = Less(a(i, j), a(k, j), a(i, k));
    }
  }
  result.lu = a;
  return result;
}

void SolveFactored(Grid lu, const Indices& pivots, bool transposed, std::vector<Complex>& b) {
  const auto n = static_cast<int64_t>(b.size());
  const auto exchange = [&](int64_t k) {
    if (pivots[k] > 0) std::swap(b[k], b[pivots[k] - 1]);
  };
  if (transposed) {
    Grid turned = lu.Transposed();
    SolveTriangle(turned, false, false, b);
    SolveTriangle(turned, true, true, b);
    for (int64_t k = n - 1; k >= 0; --k) exchange(k);
    return;
  }
  for (int64_t k = 0; k < n; ++k) exchange(k);
  SolveTriangle(lu, false, true, b);
  SolveTriangle(lu, true, false, b);
}

/// solve(n, b) changes each row b of matrix n.
template <class Solve>
void ForRows(std::vector<Grid>& rows, const Solve& solve) {
  for (size_t n = 0; n < rows.size(); ++n) {
    for (int64_t r = 0; r < rows[n].rows; ++r) {
      const auto first = rows[n].at.begin() + r * rows[n].columns;
      std::vector<Complex> b(first, first + rows[n].columns);
      solve(n, b);
      std::copy(b.begin(), b.end(), first);
    }
  }
}

/// What an op returns beside or in the place of the factors.
enum class Wanted { kFactors, kSolution, kInverse, kDeterminant, kLogarithm };

template <class T>
Results RunLu(const Case& test_case, Wanted wanted) {
  const Arguments args(test_case);
  std::vector<Grid> factors, rows;
  std::vector<Factored> factored;
  Indices pivots, info;
  Numbers<T> signs, dets, logs;
  for (const Grid& a : GridsOf<T>(args, "input")) {
    factored.push_back(Factorize(a, wanted != Wanted::kFactors || args.Flag("pivot")));
    Factored& found = factored.back();
    factors.push_back(found.lu.Transposed());
    pivots.insert(pivots.end(), found.pivots.begin(), found.pivots.end());
    info.push_back(found.info);
    if (wanted == Wanted::kInverse) {
      rows.push_back({a.rows, a.columns, std::vector<Complex>(a.at.size())});
      for (int64_t i = 0; i < a.rows; ++i) rows.back()(i, i) = {1, 0};
    }
    if (wanted != Wanted::kDeterminant && wanted != Wanted::kLogarithm) continue;
    double sign = 1, log = 0;
    for (int64_t k = 0; k < a.rows; ++k) sign = found.pivots[k] == k + 1 ? sign : -sign;
    Complex product{sign, 0};
    for (int64_t k = 0; k < a.rows; ++k) {
      Complex u = found.lu(k, k);
      if (wanted == Wanted::kLogarithm) {
        const double h = Rounded(*FindFunction("hypot"), u.re, u.im, kFloat64);
        log = log + Log(h);
        u = h == 0 ? Complex{0, 0} : Complex{u.re / h, u.im / h};
      }
      product = k == 0 ? Complex{sign * u.re, sign * u.im} : Times(product, u);
    }
    Put(product, dets);
    signs.push_back(static_cast<T>(sign));
    logs.push_back(static_cast<T>(log));
  }
  if (wanted == Wanted::kSolution) rows = GridsOf<T>(args, "rows");
  ForRows(rows,
          [&](size_t n, std::vector<Complex>& b) { SolveFactored(factored[n].lu, factored[n].pivots, false, b); });
  Results results;
  int output = 0;
  if (wanted == Wanted::kDeterminant || wanted == Wanted::kLogarithm) {
    Append(results, dets, args.OutputShape(output++));
    Append(results, wanted == Wanted::kLogarithm ? logs : signs, args.OutputShape(output++));
  }
  if (wanted == Wanted::kSolution || wanted == Wanted::kInverse) {
    AppendGrids<T>(results, rows, args.OutputShape(output++));
  }
  if (wanted != Wanted::kInverse) {
    AppendGrids<T>(results, factors, args.OutputShape(output++));
    Append(results, pivots, args.OutputShape(output++));
  }
  if (wanted != Wanted::kDeterminant && wanted != Wanted::kLogarithm) {
    Append(results, info, args.OutputShape(output));
  }
  return results;
}

}  // namespace

template <class T>
static Results RunComplexLu(const Case& test_case) {
  return RunLu<T>(test_case, Wanted::kFactors);
}
template <class T>
static Results RunComplexSolve(const Case& test_case) {
  return RunLu<T>(test_case, Wanted::kSolution);
}
template <class T>
static Results RunComplexInv(const Case& test_case) {
  return RunLu<T>(test_case, Wanted::kInverse);
}
template <class T>
static Results RunComplexDet(const Case& test_case) {
  return RunLu<T>(test_case, Wanted::kDeterminant);
}
template <class T>
static Results RunComplexSlogdet(const Case& test_case) {
  return RunLu<T>(test_case, Wanted::kLogarithm);
}

template <class T>
static Results RunComplexLuSolve(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Grid> factors = GridsOf<T>(args, "factors"), rows = GridsOf<T>(args, "rows");
  const Indices pivots = args.IndicesOf("pivots");
  ForRows(rows, [&](size_t n, std::vector<Complex>& b) {
    const auto first = pivots.begin() + static_cast<int64_t>(n * b.size());
    SolveFactored(factors[n].Transposed(), Indices(first, first + static_cast<int64_t>(b.size())),
                  args.Flag("transposed"), b);
  });
  Results results;
  AppendGrids<T>(results, rows, args.OutputShape());
  return results;
}

template <class T>
static Results RunComplexCholesky(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Grid> factors;
  Indices info;
  for (Grid& a : GridsOf<T>(args, "input")) {
    const int64_t n = a.rows;
    Grid u{n, n, std::vector<Complex>(n * n)};
    int64_t failed = 0;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) {
        Complex left = a(i, j);
        for (int64_t k = 0; k < j; ++k) left = Less(left, Conjugate(u(k, j)), u(k, i));
        if (i == j && failed == 0 && !(left.re > 0)) failed = j + 1;
        const double root = i == j ? std::sqrt(left.re) : u(j, j).re;
        u(j, i) = i == j ? Complex{root, 0} : Complex{left.re / root, left.im / root};
      }
    }
    factors.push_back(u);
    info.push_back(failed);
  }
  Results results;
  AppendGrids<T>(results, factors, args.OutputShape());
  Append(results, info, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunComplexSolveTriangular(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Grid> a = GridsOf<T>(args, "input"), rows = GridsOf<T>(args, "rows");
  ForRows(rows, [&](size_t n, std::vector<Complex>& b) {
    SolveTriangle(a[n], args.Flag("upper"), args.Flag("unitriangular"), b);
  });
  Results results;
  AppendGrids<T>(results, rows, args.OutputShape());
  return results;
}

template <class T>
static Results RunComplexCholeskySolve(const Case& test_case) {
  const Arguments args(test_case);
  std::vector<Grid> factors = GridsOf<T>(args, "factor"), rows = GridsOf<T>(args, "rows");
  ForRows(rows, [&](size_t n, std::vector<Complex>& b) {
    Grid adjoint = factors[n].Transposed();
    for (Complex& x : adjoint.at) x = Conjugate(x);
    SolveTriangle(factors[n], false, false, b);
    SolveTriangle(adjoint, true, false, b);
  });
  Results results;
  AppendGrids<T>(results, rows, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"complex_cholesky", REPDL_EITHER(RunComplexCholesky)},
                          {"complex_cholesky_solve", REPDL_EITHER(RunComplexCholeskySolve)},
                          {"complex_det", REPDL_EITHER(RunComplexDet)},
                          {"complex_inv", REPDL_EITHER(RunComplexInv)},
                          {"complex_lu", REPDL_EITHER(RunComplexLu)},
                          {"complex_lu_solve", REPDL_EITHER(RunComplexLuSolve)},
                          {"complex_slogdet", REPDL_EITHER(RunComplexSlogdet)},
                          {"complex_solve", REPDL_EITHER(RunComplexSolve)},
                          {"complex_solve_triangular", REPDL_EITHER(RunComplexSolveTriangular)}};

}  // namespace repdl::reference
