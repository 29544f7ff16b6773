// SPDX-License-Identifier: MIT
#include "drivers/pair_matrix_cpu-inl.h"
#include "ops/cholesky/cholesky_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Takes the root of number j of a row and divides those behind by it; whether it was positive.
bool DivideByRoot(double* row, int64_t j, int64_t n) {
  const bool is_positive = row[j] > 0;
  row[j] = Sqrt(row[j]);
  DivideRow(row[j], row, j + 1, n);
  return is_positive;
}
bool DivideByRoot(const PairRow& row, int64_t j, int64_t n) {
  const bool is_positive = DivideByRoot(row.re, j, n);
  row.im[j] = 0;
  DivideRow(row.re[j], row.im, j + 1, n);
  return is_positive;
}

void SubtractRows(const Rows& u, int64_t begin, int64_t middle, int64_t end, int64_t n) {
  SubtractRows(end - middle, n - middle, middle - begin, u[begin] + middle, 1, u.stride, Behind(u, begin, middle),
               Behind(u, middle, middle), true);
}
void SubtractRows(const PairRows& u, int64_t begin, int64_t middle, int64_t end, int64_t n) {
  Scratch scratch;
  const PairRows left = NewRowsOf<PairRows>(scratch, middle - begin, end - middle);
  for (int64_t k = begin; k < middle; ++k) {
    for (int64_t j = middle; j < end; ++j) left[k - begin].Put(j - middle, Conjugate(u[k][j]));
  }
  SubtractRows(end - middle, n - middle, middle - begin, left[0], 1, left.stride, Behind(u, begin, middle),
               Behind(u, middle, middle), true);
}

/// Rows [begin, end) of U, which hold those of A without the terms of the rows before `begin`, as columns from the
/// diagonal on. Notes the first failure.
template <class Matrix>
void Factorize(const Matrix& u, int64_t begin, int64_t end, int64_t n, int64_t* info) {
  if (end - begin > kFewRows) {
    const int64_t middle = begin + (end - begin + 2 * kFewRows - 1) / (2 * kFewRows) * kFewRows;
    Factorize(u, begin, middle, n, info);
    SubtractRows(u, begin, middle, end, n);
    Factorize(u, middle, end, n, info);
    return;
  }
  for (int64_t j = begin; j < end; ++j) {
    for (int64_t k = begin; k < j; ++k) SubtractRow(Conjugate(u[k][j]), u[k], u[j], j, n);
    if (!DivideByRoot(u[j], j, n) && *info == 0) *info = j + 1;
  }
}

void Clear(double* row, int64_t n) { std::fill_n(row, n, 0.0); }
void Clear(const PairRow& row, int64_t n) { Clear(row.re, n), Clear(row.im, n); }

template <class Matrix>
void Run(const CholeskyArgs& args) {
  const int64_t n = args.n;
  ForMatrices(args.batch, n * n * n / 6, [&](int64_t matrix) {
    Scratch scratch;
    const Matrix u = NewRowsOf<Matrix>(scratch, n, n);
    LoadRows(args.input.Transposed(), matrix, n, n, u);
    args.info[matrix] = 0;
    Factorize(u, 0, n, n, args.info + matrix);
    for (int64_t j = 0; j < n; ++j) Clear(u[j], j);
    StoreRows(u, n, n, args.input.dtype, args.output, matrix * n * n);
  });
}

}  // namespace

void CholeskyKernel(const CholeskyArgs& args) { args.pairs ? Run<PairRows>(args) : Run<Rows>(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
