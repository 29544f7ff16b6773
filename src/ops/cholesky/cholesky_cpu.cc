// SPDX-License-Identifier: MIT
#include "drivers/matrix_cpu-inl.h"
#include "ops/cholesky/cholesky_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Rows [begin, end) of U, which hold those of A without the terms of the rows before `begin`, as columns from the
/// diagonal on. Notes the first failure.
void Factorize(const Rows& u, int64_t begin, int64_t end, int64_t n, int64_t* info) {
  if (end - begin > kFewRows) {
    const int64_t middle = begin + (end - begin + 2 * kFewRows - 1) / (2 * kFewRows) * kFewRows;
    Factorize(u, begin, middle, n, info);
    SubtractProduct({end - middle, n - middle, middle - begin, u[begin] + middle, 1, u.stride, u[begin] + middle,
                     u.stride, u[middle] + middle, u.stride, true});
    Factorize(u, middle, end, n, info);
    return;
  }
  const TagOf<double> d;
  for (int64_t j = begin; j < end; ++j) {
    for (int64_t k = begin; k < j; ++k) SubtractRow(u[k][j], u[k], u[j], j, n);
    if (*info == 0 && !(u[j][j] > 0)) *info = j + 1;
    const double root = hn::GetLane(Sqrt(Set(d, u[j][j])));
    u[j][j] = root;
    DivideRow(root, u[j], j + 1, n);
  }
}

}  // namespace

void CholeskyKernel(const CholeskyArgs& args) {
  const int64_t n = args.n;
  ForMatrices(args.batch, n * n * n / 6, [&](int64_t matrix) {
    Scratch scratch;
    const Rows u = NewRows(scratch, n, n);
    LoadRows(args.input.Transposed(), matrix, n, n, u);
    args.info[matrix] = 0;
    Factorize(u, 0, n, n, args.info + matrix);
    for (int64_t j = 0; j < n; ++j) std::fill_n(u[j], j, 0.0);
    StoreRows(u, n, n, args.input.dtype, args.output, matrix * n * n);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
