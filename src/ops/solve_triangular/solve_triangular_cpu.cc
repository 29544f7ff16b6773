// SPDX-License-Identifier: MIT
#include "drivers/matrix_cpu-inl.h"
#include "ops/solve_triangular/solve_triangular_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void SolveTriangularKernel(const SolveTriangularArgs& args) {
  const int64_t n = args.n, m = args.m;
  ForMatrices(args.batch, n * n * m / 2, [&](int64_t matrix) {
    Scratch scratch;
    if (m <= kFewSides) {
      const Rows columns = NewRows(scratch, n, n), sides = NewRows(scratch, m, n);
      LoadRows(args.input.Transposed(), matrix, n, n, columns);
      LoadRows(args.rows, matrix, m, n, sides);
      SubstituteEach(columns, n, args.upper, args.unit, sides, m);
      if (args.by_transpose) {
        LoadRows(args.input, matrix, n, n, columns);
        SubstituteEach(columns, n, !args.upper, args.unit, sides, m);
      }
      StoreRows(sides, m, n, args.rows.dtype, args.output, matrix * n * m);
      return;
    }
    const Rows x = NewRows(scratch, n, m);
    LoadRows(args.rows.Transposed(), matrix, n, m, x);
    Triangle a{static_cast<const double*>(args.input.data) + matrix * args.input.step, args.input.row_stride,
               args.input.col_stride, args.unit};
    if (args.input.dtype != DType::kFloat64) {
      const Rows wide = NewRows(scratch, n, n);
      LoadRows(args.input, matrix, n, n, wide);
      a = {wide.data, wide.stride, 1, args.unit};
    }
    const auto substitute = [&](bool upper) {
      if (upper) {
        Substitute(Triangle::Upper(a.data, a.row_stride, a.col_stride, n, a.unit), 0, n, Reversed(x, n), m);
      } else {
        Substitute(a, 0, n, x, m);
      }
    };
    substitute(args.upper);
    if (args.by_transpose) {
      std::swap(a.row_stride, a.col_stride);
      substitute(!args.upper);
    }
    StoreColumns(x, n, m, args.rows.dtype, args.output, matrix * n * m);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
