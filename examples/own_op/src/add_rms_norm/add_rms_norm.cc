// SPDX-License-Identifier: MIT
// Checks the arguments, which the kernel trusts.
#include "add_rms_norm/add_rms_norm.h"

#include "add_rms_norm/add_rms_norm_kernel.h"
#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"

namespace own_op {

using namespace repdl;

// Reads shapes and dtypes, never data: torch asks it about tensors without memory.
Specs InferAddRmsNorm(const TensorView& input, const TensorView& residual, const TensorView& weight, double, Order) {
  CheckFloat({"add_rms_norm", "input"}, input, input);
  CheckRank({"add_rms_norm", "input"}, input, 1, kMaxRank, "(…, n)");
  CheckFloat({"add_rms_norm", "residual"}, residual, input.shape, input);
  const int last = input.rank() - 1;
  REPDL_CHECK(input.shape[last] > 0, "[add_rms_norm] input of shape ", Name(input.shape),
              " has no value to normalize; give rows of at least one");
  CheckFloat({"add_rms_norm", "weight"}, weight, {input.shape[last]}, input);
  IntList row_shape = input.shape;
  row_shape[last] = 1;
  return {{input.dtype, input.shape}, {input.dtype, input.shape}, {input.dtype, row_shape}};
}

void AddRmsNorm(const TensorView& input, const TensorView& residual, const TensorView& weight, double eps, Order order,
                Out output, Out sum, Out rstd) {
  const FpEnvGuard guard;  // the caller's rounding mode stays outside
  CheckOutputs("add_rms_norm", InferAddRmsNorm(input, residual, weight, eps, order), {&output, &sum, &rstd}, input);
  const Place place = PlaceOf("add_rms_norm", input);
  if (input.numel() == 0) return;
  OpScratch scratch(place);
  DispatchReal(input.dtype, [&]<class T>() {
    const auto row_major = [&](const TensorView& tensor) { return Contiguous(tensor, scratch).Data<const T>(); };
    AddRmsNormKernel(place, AddRmsNormArgs<T>{rstd.numel(), input.numel() / rstd.numel(), row_major(input),
                                              row_major(residual), row_major(weight), static_cast<T>(eps), order,
                                              output.Data<T>(), sum.Data<T>(), rstd.Data<T>()});
  });
}

}  // namespace own_op

// The op in the table of ops, as Python calls it.
REPDL_OPS(add_rms_norm, MakeOp<own_op::InferAddRmsNorm, own_op::AddRmsNorm, repdl::AddRmsNormKernel>(
                            "add_rms_norm", "input, residual, weight, eps=1e-06, order='blocked'", kFloat32Or64))
