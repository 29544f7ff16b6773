// SPDX-License-Identifier: MIT
#include "repdl/ops/linear.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/contiguous.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/mm/mm_kernel.h"

namespace repdl {

Specs InferLinear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias, Order) {
  CheckFloat({"linear", "input"}, input, input);
  CheckFloat({"linear", "weight"}, weight, input);
  CheckRank({"linear", "input"}, input, 1, kMaxRank, "(…, k)");
  CheckRank({"linear", "weight"}, weight, 2, 2, "(n, k)");
  const int64_t n = weight.shape[0], k = weight.shape[1];
  REPDL_CHECK(input.shape[input.rank() - 1] == k, ArgName{"linear", "input"}, " of shape ", Name(input.shape),
              " must end in the ", k, " columns of weight, ", Name(weight.shape));
  if (bias) {
    CheckFloat({"linear", "bias"}, *bias, input);
    CheckShape({"linear", "bias"}, *bias, {n});
  }
  IntList shape = input.shape;
  shape[shape.size() - 1] = n;
  return {{DType::kFloat32, shape}};
}

void Linear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias, Order order,
            Out output) {
  const FpEnvGuard guard;
  CheckOutputs("linear", InferLinear(input, weight, bias, order), {&output}, input);
  CheckCpu("linear", input);
  if (output.numel() == 0) return;
  Scratch scratch;
  const TensorView rows = input.rank() == 2 ? input : Contiguous(input, scratch);
  MmArgs args{};
  args.n = weight.shape[0], args.k = weight.shape[1];
  args.m = output.numel() / args.n;
  args.batch = 1;
  const float* const a = rows.Data<const float>();
  const float* const b = weight.Data<const float>();
  args.a = &a, args.b = &b;
  args.a_row_stride = rows.rank() == 2 ? rows.strides[0] : args.k;
  args.a_col_stride = rows.rank() == 2 ? rows.strides[1] : 1;
  args.b_row_stride = weight.strides[1], args.b_col_stride = weight.strides[0];
  args.c = output.Data<float>();
  args.bias = bias ? Contiguous(*bias, scratch).Data<const float>() : nullptr;
  args.order = order;
  MmKernel(args);
}

}  // namespace repdl

REPDL_OPS(linear, MakeOp<InferLinear, Linear>("linear", "input, weight, bias=None, order='blocked'"))
