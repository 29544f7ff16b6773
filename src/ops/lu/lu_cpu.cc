// SPDX-License-Identifier: MIT
#include "drivers/matrix_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/lu/lu_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Where to cut rows [begin, end) in two.
int64_t Middle(int64_t begin, int64_t end) {
  return begin + (end - begin + 2 * kFewRows - 1) / (2 * kFewRows) * kFewRows;
}

/// The factors of one matrix, as its columns: number i of row j is element (i, j).
struct Factors {
  Rows columns;
  int64_t m, n;
  bool pivot;
  int64_t* pivots;
  int64_t* info;

  void Run() const {
    const int64_t steps = std::min(m, n);
    if (steps == 0) return;
    Factorize(0, steps);
    if (steps < n) Apply(0, steps, steps, n);
  }

 private:
  /// The first of the largest in size, NaN before all numbers.
  int64_t PivotOf(const double* column, int64_t k) const {
    int64_t best = k;
    double size = __builtin_fabs(column[k]);
    for (int64_t i = k + 1; i < m && size == size; ++i) {
      const double other = __builtin_fabs(column[i]);
      if (!(other <= size)) best = i, size = other;
    }
    return best;
  }

  /// Exchanges the rows of columns [c_begin, c_end) as steps [begin, end) say.
  void Exchange(int64_t begin, int64_t end, int64_t c_begin, int64_t c_end) const {
    for (int64_t c = c_begin; c < c_end; ++c) {
      double* const column = columns[c];
      for (int64_t k = begin; k < end; ++k) std::swap(column[k], column[pivots[k] - 1]);
    }
  }

  /// Columns [begin, end), of which the steps before `begin` are done.
  void Factorize(int64_t begin, int64_t end) const {
    if (end - begin > kFewRows) {
      const int64_t middle = Middle(begin, end);
      Factorize(begin, middle);
      Apply(begin, middle, middle, end);
      Factorize(middle, end);
      Exchange(middle, end, begin, middle);
      return;
    }
    for (int64_t k = begin; k < end; ++k) {
      pivots[k] = (pivot ? PivotOf(columns[k], k) : k) + 1;
      Exchange(k, k + 1, begin, end);
      double* const column = columns[k];
      if (column[k] == 0) {
        if (*info == 0) *info = k + 1;
      } else {
        DivideRow(column[k], column, k + 1, m);
      }
      for (int64_t c = k + 1; c < end; ++c) SubtractRow(columns[c][k], column, columns[c], k + 1, m);
    }
  }

  /// Steps [begin, end) to columns [c_begin, c_end).
  void Apply(int64_t begin, int64_t end, int64_t c_begin, int64_t c_end) const {
    Exchange(begin, end, c_begin, c_end);
    SolveUnit(begin, end, c_begin, c_end);
    Subtract(begin, end, end, m, c_begin, c_end);
  }

  /// The terms of steps [begin, end) from rows [r_begin, r_end).
  void Subtract(int64_t begin, int64_t end, int64_t r_begin, int64_t r_end, int64_t c_begin, int64_t c_end) const {
    SubtractProduct({c_end - c_begin, r_end - r_begin, end - begin, columns[c_begin] + begin, columns.stride, 1,
                     columns[begin] + r_begin, columns.stride, columns[c_begin] + r_begin, columns.stride, false});
  }

  void SolveUnit(int64_t begin, int64_t end, int64_t c_begin, int64_t c_end) const {
    if (end - begin > kFewRows) {
      const int64_t middle = Middle(begin, end);
      SolveUnit(begin, middle, c_begin, c_end);
      Subtract(begin, middle, middle, end, c_begin, c_end);
      SolveUnit(middle, end, c_begin, c_end);
      return;
    }
    for (int64_t c = c_begin; c < c_end; ++c) {
      for (int64_t k = begin; k + 1 < end; ++k) SubtractRow(columns[c][k], columns[k], columns[c], k + 1, end);
    }
  }
};

/// Exchanges whole rows.
void ExchangeRows(const Rows& x, int64_t m, const int64_t* pivots, int64_t n, bool back) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t k = back ? n - 1 - step : step, other = pivots[k] - 1;
    if (other >= 0 && other != k) std::swap_ranges(x[k], x[k] + m, x[other]);
  }
}

/// -1 where an odd number of rows was exchanged.
double SignOf(const int64_t* pivots, int64_t n) {
  int64_t exchanges = 0;
  for (int64_t k = 0; k < n; ++k) exchanges += pivots[k] == k + 1 ? 0 : 1;
  return exchanges % 2 == 0 ? 1.0 : -1.0;
}

struct SignedLog {
  double sign, log;
};

/// The sum of the logarithms of the diagonal, and its sign times that of the exchanges.
SignedLog SignedLogOf(const Rows& columns, int64_t n, double sign) {
  Scratch scratch;
  double* const numbers = scratch.Get<double>(n);
  for (int64_t k = 0; k < n; ++k) {
    const double number = columns[k][k];
    sign = sign * (number > 0 ? 1.0 : number < 0 ? -1.0 : number);
    numbers[k] = __builtin_fabs(number);
  }
  ForVectors<double>(n, [&](int64_t k, int64_t count) HWY_ATTR {
    StoreN<double>(LogDouble()(TagOf<double>(), LoadN(numbers + k, count, 1.0)), numbers + k, count);
  });
  double log = 0;
  for (int64_t k = 0; k < n; ++k) log = log + numbers[k];
  return {sign, log};
}

void SolveFactored(const Rows& columns, int64_t n, const int64_t* pivots, bool adjoint, const Rows& x, int64_t m) {
  const double* const a = columns.data;
  const int64_t stride = columns.stride;
  if (adjoint) {
    Substitute({a, stride, 1, false}, 0, n, x, m);
    Substitute(Triangle::Upper(a, stride, 1, n, true), 0, n, Reversed(x, n), m);
    ExchangeRows(x, m, pivots, n, true);
  } else {
    ExchangeRows(x, m, pivots, n, false);
    Substitute({a, 1, stride, true}, 0, n, x, m);
    Substitute(Triangle::Upper(a, 1, stride, n, false), 0, n, Reversed(x, n), m);
  }
}

}  // namespace

void LuKernel(const LuArgs& args) {
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  ForMatrices(args.batch, (args.is_factored ? 0 : steps * m * n / 2) + n * n * args.num_rows, [&](int64_t matrix) {
    Scratch scratch;
    const Rows columns = NewRows(scratch, n, m);
    LoadRows(args.is_factored ? args.input : args.input.Transposed(), matrix, n, m, columns);
    int64_t* const pivots = args.pivots == nullptr ? scratch.Get<int64_t>(steps) : args.pivots + matrix * steps;
    int64_t info = 0;
    if (!args.is_factored) Factors{columns, m, n, args.pivot, pivots, &info}.Run();
    if (args.info != nullptr) args.info[matrix] = info;
    if (args.det != nullptr) {
      double sign = SignOf(pivots, n), det = sign;
      for (int64_t k = 0; k < n; ++k) det = det * columns[k][k];
      StoreRows({&det, 1}, 1, 1, args.input.dtype, args.det, matrix);
      StoreRows({&sign, 1}, 1, 1, args.input.dtype, args.sign, matrix);
    }
    if (args.logabsdet != nullptr) {
      SignedLog result = SignedLogOf(columns, n, SignOf(pivots, n));
      StoreRows({&result.sign, 1}, 1, 1, args.input.dtype, args.sign, matrix);
      StoreRows({&result.log, 1}, 1, 1, args.input.dtype, args.logabsdet, matrix);
    }
    if (args.factors != nullptr) StoreRows(columns, n, m, args.input.dtype, args.factors, matrix * n * m);
    if (args.output == nullptr || args.num_rows == 0 || n == 0) return;
    if (args.rows.data != nullptr && !args.adjoint && args.num_rows <= kFewSides) {
      const Rows sides = NewRows(scratch, args.num_rows, n);
      LoadRows(args.rows, matrix, args.num_rows, n, sides);
      for (int64_t k = 0; k < n; ++k) {
        const int64_t other = pivots[k] - 1;
        if (other < 0 || other == k) continue;
        for (int64_t side = 0; side < args.num_rows; ++side) std::swap(sides[side][k], sides[side][other]);
      }
      SubstituteEach(columns, n, false, true, sides, args.num_rows);
      SubstituteEach(columns, n, true, false, sides, args.num_rows);
      StoreRows(sides, args.num_rows, n, args.input.dtype, args.output, matrix * n * args.num_rows);
      return;
    }
    const Rows x = NewRows(scratch, n, args.num_rows);
    if (args.rows.data != nullptr) {
      LoadRows(args.rows.Transposed(), matrix, n, args.num_rows, x);
    } else {
      for (int64_t i = 0; i < n; ++i) std::fill_n(x[i], n, 0.0), x[i][i] = 1.0;
    }
    SolveFactored(columns, n, pivots, args.adjoint, x, args.num_rows);
    StoreColumns(x, n, args.num_rows, args.input.dtype, args.output, matrix * n * args.num_rows);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
