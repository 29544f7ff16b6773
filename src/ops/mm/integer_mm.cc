// SPDX-License-Identifier: MIT
#include "base/check.h"
#include "drivers/unsigned.h"
#include "ops/mm/integer_mm_kernel.h"
#include "ops/mm/mm_shapes.h"
#include "repdl/ops/mm.h"

namespace repdl {
namespace {

constexpr std::string_view kOp = "integer_mm";

MmShapes Check(const TensorView& input, const TensorView& mat2) {
  CheckInteger({kOp, "input"}, input, input, "mm");
  CheckInteger({kOp, "mat2"}, mat2, input, "mm");
  return MmShapes(kOp, input, mat2, false, false);
}

}  // namespace

Specs InferIntegerMm(const TensorView& input, const TensorView& mat2) { return Check(input, mat2).Result(input.dtype); }

void IntegerMm(const TensorView& input, const TensorView& mat2, Out output) {
  const MmShapes shapes = Check(input, mat2);
  CheckOutputs(kOp, shapes.Result(input.dtype), {&output}, input);
  const Place place = PlaceOf(kOp, input);
  if (output.numel() == 0) return;
  IntegerMmKernel(place, {.m = shapes.m,
                          .n = shapes.n,
                          .k = shapes.k,
                          .batch = shapes.Count(),
                          .dtype = input.dtype,
                          .a = input.data,
                          .a_row_stride = input.strides[input.rank() - 2],
                          .a_col_stride = input.strides[input.rank() - 1],
                          .a_batch = shapes.BatchLoops(input),
                          .b = mat2.data,
                          .b_row_stride = mat2.strides[mat2.rank() - 2],
                          .b_col_stride = mat2.strides[mat2.rank() - 1],
                          .b_batch = shapes.BatchLoops(mat2),
                          .c = output.data});
}

}  // namespace repdl
