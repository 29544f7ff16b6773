// SPDX-License-Identifier: MIT
#include "ops/mm/multiply.h"

#include <utility>

#include "base/op_scratch.h"
#include "drivers/convert.h"

namespace repdl {
namespace {

/// An operand: where its numbers are, and how to step through them.
struct Operand {
  const void*& data;
  int64_t &row_stride, &col_stride;
  Loops& batch;
};

bool IsOneMatrix(const Loops& batch) {
  for (int64_t stride : batch.strides) {
    if (stride != 0) return false;
  }
  return true;
}

/// Makes an operand of rows x cols matrices one of float32.
void Widen(DType dtype, int64_t rows, int64_t cols, const Operand& operand, OpScratch& scratch) {
  TensorView view = MakeView(const_cast<void*>(operand.data), dtype, {}, scratch.place().device);
  const bool is_one = IsOneMatrix(operand.batch);
  if (is_one) operand.batch = {};
  for (int dim = 0; dim < operand.batch.shape.size(); ++dim) {
    view.shape.Append(operand.batch.shape[dim]), view.strides.Append(operand.batch.strides[dim]);
  }
  view.shape.Append(rows), view.strides.Append(operand.row_stride);
  view.shape.Append(cols), view.strides.Append(operand.col_stride);
  const TensorView wide = Widened(view, scratch);
  operand.data = wide.data;
  for (int dim = 0; dim < operand.batch.shape.size(); ++dim) operand.batch.strides[dim] = wide.strides[dim];
  operand.row_stride = wide.strides[wide.rank() - 2], operand.col_stride = wide.strides[wide.rank() - 1];
}

/// The transpose, which is the same numbers where the result is a column. They have one number of a bias.
MmArgs ColumnAsRow(const MmArgs& args) {
  MmArgs row = args;
  std::swap(row.m, row.n);
  row.a = args.b, row.a_row_stride = args.b_col_stride, row.a_col_stride = args.b_row_stride,
  row.a_batch = args.b_batch;
  row.b = args.a, row.b_row_stride = args.a_col_stride, row.b_col_stride = args.a_row_stride,
  row.b_batch = args.a_batch;
  row.bias_stride = 0;
  return row;
}

void MultiplyWidened(const Place& place, const MmArgs& args) {
  OpScratch scratch(place);
  MmArgs wide = args;
  wide.dtype = DType::kFloat32;
  if (args.k > 0) {
    Widen(args.dtype, args.m, args.k, {wide.a, wide.a_row_stride, wide.a_col_stride, wide.a_batch}, scratch);
    Widen(args.dtype, args.k, args.n, {wide.b, wide.b_row_stride, wide.b_col_stride, wide.b_batch}, scratch);
  }
  if (args.bias != nullptr) {
    TensorView bias = MakeView(const_cast<void*>(args.bias), args.dtype, {args.n}, place.device);
    bias.strides[0] = args.bias_stride;
    bias = Widened(bias, scratch);
    wide.bias = bias.data, wide.bias_stride = bias.strides[0];
  }
  const IntList shape{args.batch * args.m * args.n};
  const TensorView result = scratch.New(DType::kFloat32, shape);
  wide.c = result.data;
  MmKernel(place, wide);
  Convert(place, result, MakeView(args.c, args.dtype, shape, place.device));
}

}  // namespace

void Multiply(const Place& place, const MmArgs& args) {
  if (!IsLow(args.dtype)) return MmKernel(place, args);
  const MmArgs rows = args.n == 1 && args.m > 1 ? ColumnAsRow(args) : args;
  const bool in_place = rows.b_row_stride == 1 || rows.b_col_stride == 1;
  if (place.IsCpu() && rows.m <= kFewLowRows && rows.k > 0 && in_place) return FewRowsOfLow(place, rows);
  MultiplyWidened(place, rows);
}

}  // namespace repdl
