// SPDX-License-Identifier: MIT
#include "drivers/pair_matrix_cpu-inl.h"
#include "ops/lu/lu_kernel.h"
#include "ops/lu/lu_of_lanes_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Where to cut rows [begin, end) in two.
int64_t Middle(int64_t begin, int64_t end) {
  return begin + (end - begin + 2 * kFewRows - 1) / (2 * kFewRows) * kFewRows;
}

#include "ops/lu/lu.lane.h"

/// The factors of one matrix, as its columns: number i of row j is element (i, j).
template <class Matrix>
struct Factors {
  using Row = decltype(std::declval<Matrix>()[0]);

  Matrix columns;
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
  int64_t PivotOf(const Row& column, int64_t k) const {
    int64_t best = k;
    double size = SizeOf(column[k]);
    for (int64_t i = k + 1; i < m; ++i) {
      const double other = SizeOf(column[i]);
      if (IsLarger(other, size)) best = i, size = other;
    }
    return best;
  }

  /// Exchanges the rows of columns [c_begin, c_end) as steps [begin, end) say.
  void Exchange(int64_t begin, int64_t end, int64_t c_begin, int64_t c_end) const {
    for (int64_t c = c_begin; c < c_end; ++c) {
      const Row column = columns[c];
      for (int64_t k = begin; k < end; ++k) SwapNumbers(column, k, pivots[k] - 1);
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
      const Row column = columns[k];
      if (IsZero(column[k])) {
        if (*info == 0) *info = k + 1;
      } else {
        DivideRow(column[k], column, k + 1, m);
      }
      for (int64_t c = k + 1; c < end; ++c) SubtractRow(columns[c][k], column, columns[c], k + 1, m);
    }
  }

  /// Steps [begin, end) to columns [c_begin, c_end), each of which goes for itself.
  void Apply(int64_t begin, int64_t end, int64_t c_begin, int64_t c_end) const {
    ForColumns(c_end - c_begin, (end - begin) * (m - begin), [&](int64_t first, int64_t last) HWY_ATTR {
      Exchange(begin, end, c_begin + first, c_begin + last);
      SolveUnit(begin, end, c_begin + first, c_begin + last);
      Subtract(begin, end, end, m, c_begin + first, c_begin + last);
    });
  }

  /// The terms of steps [begin, end) from rows [r_begin, r_end).
  void Subtract(int64_t begin, int64_t end, int64_t r_begin, int64_t r_end, int64_t c_begin, int64_t c_end) const {
    SubtractRows(c_end - c_begin, r_end - r_begin, end - begin, columns[c_begin] + begin, columns.stride, 1,
                 Behind(columns, begin, r_begin), Behind(columns, c_begin, r_begin));
  }

  void SolveUnit(int64_t begin, int64_t end, int64_t c_begin, int64_t c_end) const {
    if (end - begin > kFewRows) {
      const int64_t middle = Middle(begin, end);
      SolveUnit(begin, middle, c_begin, c_end);
      Subtract(begin, middle, middle, end, c_begin, c_end);
      SolveUnit(middle, end, c_begin, c_end);
      return;
    }
    // Side by side, so that a vector has a lane for each column.
    const int64_t steps = end - begin, count = c_end - c_begin;
    Scratch scratch;
    const Matrix x = NewRowsOf<Matrix>(scratch, steps, count);
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t i = 0; i < steps; ++i) PutNumber(x[i], c, columns[c_begin + c][begin + i]);
    }
    for (int64_t i = 1; i < steps; ++i) {
      for (int64_t k = 0; k < i; ++k) SubtractColumn(x[k], columns[begin + k][begin + i], x[i], 0, count);
    }
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t i = 0; i < steps; ++i) PutNumber(columns[c_begin + c], begin + i, x[i][c]);
    }
  }
};

/// Exchanges whole rows.
template <class Matrix>
void ExchangeRows(const Matrix& x, int64_t m, const int64_t* pivots, int64_t n, bool back) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t k = back ? n - 1 - step : step, other = pivots[k] - 1;
    if (other >= 0 && other != k) SwapRows(x[k], x[other], m);
  }
}

void StoreNumber(double x, DType dtype, void* to, int64_t at) { StoreRows(Rows{&x, 1}, 1, 1, dtype, to, at); }
void StoreNumber(Complex x, DType dtype, void* to, int64_t at) {
  StoreRows(PairRows{&x.re, 2, 1}, 1, 1, dtype, to, at);
}

template <class Matrix>
void SolveFactored(const Matrix& columns, int64_t n, const int64_t* pivots, bool adjoint, const Matrix& x, int64_t m) {
  const auto a = columns[0];
  using Triangle = TriangleOf<decltype(columns[0])>;
  const int64_t stride = columns.stride;
  if (adjoint) {
    Substitute(Triangle{a, stride, 1, false}, 0, n, x, m);
    Substitute(Triangle::Upper(a, stride, 1, n, true), 0, n, Reversed(x, n), m);
    ExchangeRows(x, m, pivots, n, true);
  } else {
    ExchangeRows(x, m, pivots, n, false);
    Substitute(Triangle{a, 1, stride, true}, 0, n, x, m);
    Substitute(Triangle::Upper(a, 1, stride, n, false), 0, n, Reversed(x, n), m);
  }
}

void SetIdentity(const Rows& x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::fill_n(x[i], n, 0.0), x[i][i] = 1.0;
}
void SetIdentity(const PairRows& x, int64_t n) {
  SetIdentity(x.Real(), n);
  for (int64_t i = 0; i < n; ++i) std::fill_n(x[i].im, n, 0.0);
}

/// What is said of a matrix besides its factors and solutions.
template <class Diagonal>
void StoreDeterminant(const LuArgs& args, int64_t matrix, const Diagonal& diagonal, const int64_t* pivots) {
  if (args.det != nullptr) {
    const double sign = SignOf(pivots, args.n);
    StoreNumber(DeterminantOf(diagonal, args.n, sign), args.input.dtype, args.det, matrix);
    StoreNumber(sign, args.input.dtype, args.sign, matrix);
  }
  if (args.logabsdet != nullptr) {
    const auto result = SignedLogOf(diagonal, args.n, SignOf(pivots, args.n));
    StoreNumber(result.sign, args.input.dtype, args.sign, matrix);
    StoreNumber(result.log, args.input.dtype, args.logabsdet, matrix);
  }
}

/// About the multiplications of a matrix.
int64_t WorkOf(const LuArgs& args) {
  const int64_t steps = std::min(args.m, args.n);
  return (args.is_factored ? 0 : steps * args.m * args.n / 2) + args.n * args.n * args.num_rows;
}

/// Small matrices of real numbers, a lane for each; whether they are.
bool RunLanes(const LuArgs& args) {
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  if (args.pairs) return false;
  return ForLanes(args.batch, std::max({m, n, args.num_rows}), WorkOf(args), [&](int64_t first, int64_t count) {
    Scratch scratch;
    const LaneRows columns = NewLaneRows(scratch, n, m);
    const LaneRow places = NewLaneRows(scratch, 1, steps)[0], info = NewLaneRows(scratch, 1, 1)[0];
    LoadLanes(args.is_factored ? args.input : args.input.Transposed(), first, count, n, m, columns);
    int64_t* const pivots = args.pivots == nullptr ? scratch.Get<int64_t>(count * steps) : args.pivots + first * steps;
    if (args.is_factored) {
      LoadPlaces(pivots, count, steps, places);
    } else {
      LaneFactors{columns, m, n, args.pivot, places, info}.Run();
      StorePlaces(places, count, steps, pivots);
    }
    for (int64_t lane = 0; lane < count; ++lane) {
      if (args.info != nullptr) args.info[first + lane] = static_cast<int64_t>(info.data[lane]);
      StoreDeterminant(
          args, first + lane, [&](int64_t k) { return (columns[k] + k).data[lane]; }, pivots + lane * steps);
    }
    if (args.factors != nullptr) StoreLanes(columns, count, n, m, args.input.dtype, args.factors, first * n * m);
    if (args.output == nullptr) return;
    const LaneRows sides = NewLaneRows(scratch, args.num_rows, n);
    if (args.rows.data != nullptr) {
      LoadLanes(args.rows, first, count, args.num_rows, n, sides);
    } else {
      SetIdentity(sides, n);
    }
    SolveLanes(columns, n, places, args.adjoint, sides, args.num_rows);
    StoreLanes(sides, count, args.num_rows, n, args.input.dtype, args.output, first * n * args.num_rows);
  });
}

template <class Matrix>
void Run(const LuArgs& args) {
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  ForMatrices(args.batch, WorkOf(args), [&](int64_t matrix) {
    Scratch scratch;
    const Matrix columns = NewRowsOf<Matrix>(scratch, n, m);
    LoadRows(args.is_factored ? args.input : args.input.Transposed(), matrix, n, m, columns);
    int64_t* const pivots = args.pivots == nullptr ? scratch.Get<int64_t>(steps) : args.pivots + matrix * steps;
    int64_t info = 0;
    if (!args.is_factored) Factors<Matrix>{columns, m, n, args.pivot, pivots, &info}.Run();
    if (args.info != nullptr) args.info[matrix] = info;
    StoreDeterminant(args, matrix, [&](int64_t k) { return columns[k][k]; }, pivots);
    if (args.factors != nullptr) StoreRows(columns, n, m, args.input.dtype, args.factors, matrix * n * m);
    if (args.output == nullptr || args.num_rows == 0 || n == 0) return;
    if (args.rows.data != nullptr && !args.adjoint && args.num_rows <= kFewSides) {
      const Matrix sides = NewRowsOf<Matrix>(scratch, args.num_rows, n);
      LoadRows(args.rows, matrix, args.num_rows, n, sides);
      for (int64_t k = 0; k < n; ++k) {
        const int64_t other = pivots[k] - 1;
        if (other < 0 || other == k) continue;
        for (int64_t side = 0; side < args.num_rows; ++side) SwapNumbers(sides[side], k, other);
      }
      SubstituteEach(columns, n, false, true, sides, args.num_rows);
      SubstituteEach(columns, n, true, false, sides, args.num_rows);
      StoreRows(sides, args.num_rows, n, args.input.dtype, args.output, matrix * n * args.num_rows);
      return;
    }
    const Matrix x = NewRowsOf<Matrix>(scratch, n, args.num_rows);
    if (args.rows.data != nullptr) {
      LoadRows(args.rows.Transposed(), matrix, n, args.num_rows, x);
    } else {
      SetIdentity(x, n);
    }
    ForColumns(args.num_rows, n * n, [&](int64_t begin, int64_t end) HWY_ATTR {
      const Matrix some = Behind(x, 0, begin);
      SolveFactored(columns, n, pivots, args.adjoint, some, end - begin);
      StoreColumns(some, n, end - begin, args.input.dtype, args.output, (matrix * args.num_rows + begin) * n);
    });
  });
}

}  // namespace

void LuKernel(const LuArgs& args) {
  if (!RunLanes(args)) args.pairs ? Run<PairRows>(args) : Run<Rows>(args);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
