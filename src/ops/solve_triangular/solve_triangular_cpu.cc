// SPDX-License-Identifier: MIT
#include "drivers/lane_matrix_cpu-inl.h"
#include "drivers/pair_matrix_cpu-inl.h"
#include "ops/solve_triangular/solve_triangular_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

void Conjugate(const Rows& /*x*/, int64_t /*rows*/, int64_t /*cols*/) {}
void Conjugate(const PairRows& x, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    const PairRow row = x[i];
    for (int64_t j = 0; j < cols; ++j) row.im[j] = -row.im[j];
  }
}

/// The matrix as a lower triangle, in place where that can be.
TriangleOf<const double*> Lower(const SolveTriangularArgs& args, int64_t matrix, Scratch& scratch,
                                const Rows& /*like*/) {
  const int64_t n = args.n;
  if (args.input.dtype == DType::kFloat64) {
    return {static_cast<const double*>(args.input.data) + matrix * args.input.step, args.input.row_stride,
            args.input.col_stride, args.unit};
  }
  const Rows wide = NewRows(scratch, n, n);
  LoadRows(args.input, matrix, n, n, wide);
  return {wide.data, wide.stride, 1, args.unit};
}

TriangleOf<PairRow> Lower(const SolveTriangularArgs& args, int64_t matrix, Scratch& scratch, const PairRows& /*like*/) {
  const PairRows wide = NewRowsOf<PairRows>(scratch, args.n, args.n);
  LoadRows(args.input, matrix, args.n, args.n, wide);
  return {wide[0], wide.stride, 1, args.unit};
}

/// The conjugate of what `Lower` gave, transposed.
TriangleOf<const double*> Adjoint(const TriangleOf<const double*>& a, int64_t /*n*/) {
  return {a.data, a.col_stride, a.row_stride, a.unit};
}
TriangleOf<PairRow> Adjoint(const TriangleOf<PairRow>& a, int64_t n) {
  Conjugate(PairRows{a.data.re, a.row_stride, a.data.im - a.data.re}, n, n);
  return {a.data, a.col_stride, a.row_stride, a.unit};
}

template <class Row, class Matrix>
void SubstituteFrom(const TriangleOf<Row>& a, bool upper, int64_t n, const Matrix& x, int64_t m) {
  ForColumns(m, n * n / 2, [&](int64_t begin, int64_t end) HWY_ATTR {
    const Matrix some = Behind(x, 0, begin);
    if (upper) {
      const auto reversed = TriangleOf<Row>::Upper(a.data, a.row_stride, a.col_stride, n, a.unit);
      Substitute(reversed, 0, n, Reversed(some, n), end - begin);
    } else {
      Substitute(a, 0, n, some, end - begin);
    }
  });
}

/// About the multiplications of a matrix.
int64_t WorkOf(const SolveTriangularArgs& args) { return args.n * args.n * args.m / 2; }

/// Small matrices of real numbers, a lane for each; whether they are.
bool RunLanes(const SolveTriangularArgs& args) {
  const int64_t n = args.n, m = args.m;
  if (args.pairs) return false;
  return ForLanes(args.batch, std::max(m, n), WorkOf(args), [&](int64_t first, int64_t count) {
    Scratch scratch;
    const LaneRows a = NewLaneRows(scratch, n, n), sides = NewLaneRows(scratch, m, n);
    LoadLanes(args.input.Transposed(), first, count, n, n, a);
    LoadLanes(args.rows, first, count, m, n, sides);
    SubstituteEach(a, n, args.upper, args.unit, sides, m);
    if (args.by_adjoint) {
      LoadLanes(args.input, first, count, n, n, a);
      SubstituteEach(a, n, !args.upper, args.unit, sides, m);
    }
    StoreLanes(sides, count, m, n, args.rows.dtype, args.output, first * n * m);
  });
}

template <class Matrix>
void Run(const SolveTriangularArgs& args) {
  const int64_t n = args.n, m = args.m;
  ForMatrices(args.batch, WorkOf(args), [&](int64_t matrix) {
    Scratch scratch;
    if (m <= kFewSides) {
      const Matrix a = NewRowsOf<Matrix>(scratch, n, n), sides = NewRowsOf<Matrix>(scratch, m, n);
      LoadRows(args.input.Transposed(), matrix, n, n, a);
      LoadRows(args.rows, matrix, m, n, sides);
      SubstituteEach(a, n, args.upper, args.unit, sides, m);
      if (args.by_adjoint) {
        LoadRows(args.input, matrix, n, n, a);
        Conjugate(a, n, n);
        SubstituteEach(a, n, !args.upper, args.unit, sides, m);
      }
      StoreRows(sides, m, n, args.rows.dtype, args.output, matrix * n * m);
      return;
    }
    const Matrix x = NewRowsOf<Matrix>(scratch, n, m);
    LoadRows(args.rows.Transposed(), matrix, n, m, x);
    const auto a = Lower(args, matrix, scratch, x);
    SubstituteFrom(a, args.upper, n, x, m);
    if (args.by_adjoint) SubstituteFrom(Adjoint(a, n), !args.upper, n, x, m);
    StoreColumns(x, n, m, args.rows.dtype, args.output, matrix * n * m);
  });
}

}  // namespace

void SolveTriangularKernel(const SolveTriangularArgs& args) {
  if (!RunLanes(args)) args.pairs ? Run<PairRows>(args) : Run<Rows>(args);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
