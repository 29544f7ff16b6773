// SPDX-License-Identifier: MIT
#include "drivers/lane_matrix_cpu-inl.h"
#include "drivers/pair_matrix_cpu-inl.h"
#include "ops/cholesky/cholesky_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Takes the root of number j of a row and divides those behind by it; notes the first that was not positive.
void DivideByRoot(double* row, int64_t j, int64_t n, int64_t* info) {
  if (!(row[j] > 0) && *info == 0) *info = j + 1;
  row[j] = Sqrt(row[j]);
  DivideRow(row[j], row, j + 1, n);
}
void DivideByRoot(const PairRow& row, int64_t j, int64_t n, int64_t* info) {
  DivideByRoot(row.re, j, n, info);
  row.im[j] = 0;
  DivideRow(row.re[j], row.im, j + 1, n);
}
void DivideByRoot(const LaneRow& row, int64_t j, int64_t n, const LaneRow& info) {
  const TagOf<double> d;
  const VecOf<double> step = IfThenElse(Gt(row[j], Zero(d)), Zero(d), Set(d, static_cast<double>(j + 1)));
  info.Put(0, IfThenElse(Eq(info[0], Zero(d)), step, info[0]));
  row.Put(j, Sqrt(row[j]));
  DivideRow(row[j], row, j + 1, n);
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
template <class Matrix, class Info>
void FactorizeFew(const Matrix& u, int64_t begin, int64_t end, int64_t n, const Info& info) {
  for (int64_t j = begin; j < end; ++j) {
    for (int64_t k = begin; k < j; ++k) SubtractRow(Conjugate(u[k][j]), u[k], u[j], j, n);
    DivideByRoot(u[j], j, n, info);
  }
}

template <class Matrix>
void Factorize(const Matrix& u, int64_t begin, int64_t end, int64_t n, int64_t* info) {
  if (end - begin <= kFewRows) return FactorizeFew(u, begin, end, n, info);
  const int64_t middle = begin + (end - begin + 2 * kFewRows - 1) / (2 * kFewRows) * kFewRows;
  Factorize(u, begin, middle, n, info);
  SubtractRows(u, begin, middle, end, n);
  Factorize(u, middle, end, n, info);
}

/// About the multiplications of a matrix.
int64_t WorkOf(const CholeskyArgs& args) { return args.n * args.n * args.n / 6; }

void Clear(double* row, int64_t n) { std::fill_n(row, n, 0.0); }
void Clear(const PairRow& row, int64_t n) { Clear(row.re, n), Clear(row.im, n); }

/// Small matrices of real numbers, a lane for each; whether they are.
bool RunLanes(const CholeskyArgs& args) {
  const int64_t n = args.n;
  if (args.pairs) return false;
  return ForLanes(args.batch, n, WorkOf(args), [&](int64_t first, int64_t count) {
    const TagOf<double> d;
    Scratch scratch;
    const LaneRows u = NewLaneRows(scratch, n, n);
    const LaneRow info = NewLaneRows(scratch, 1, 1)[0];
    LoadLanes(args.input.Transposed(), first, count, n, n, u);
    info.Put(0, Zero(d));
    FactorizeFew(u, 0, n, n, info);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < j; ++i) u[j].Put(i, Zero(d));
    }
    for (int64_t lane = 0; lane < count; ++lane) args.info[first + lane] = static_cast<int64_t>(info.data[lane]);
    StoreLanes(u, count, n, n, args.input.dtype, args.output, first * n * n);
  });
}

template <class Matrix>
void Run(const CholeskyArgs& args) {
  const int64_t n = args.n;
  ForMatrices(args.batch, WorkOf(args), [&](int64_t matrix) {
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

void CholeskyKernel(const CholeskyArgs& args) {
  if (!RunLanes(args)) args.pairs ? Run<PairRows>(args) : Run<Rows>(args);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
