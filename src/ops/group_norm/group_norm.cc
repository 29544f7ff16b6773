// SPDX-License-Identifier: MIT
#include "repdl/ops/group_norm.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/group_norm/group_norm_kernel.h"
#include "ops/layer_norm/layer_norm_kernel.h"

namespace repdl {
namespace {

using OptionalTensor = std::optional<TensorView>;

void CheckInput(std::string_view op, const TensorView& input) {
  CheckFloat({op, "input"}, input, input);
  CheckRank({op, "input"}, input, 2, kMaxRank, "(n, c) or (n, c, …)");
}

/// Elements of a channel of a sample.
int64_t Places(const TensorView& input) {
  int64_t places = 1;
  for (int i = 2; i < input.rank(); ++i) places *= input.shape[i];
  return places;
}

/// A row for each group of each sample.
template <class T>
LayerNormArgs<T> MakeRows(const TensorView& input, int64_t num_groups, const OptionalTensor& weight, Order order,
                          OpScratch& scratch) {
  const int64_t channels = input.shape[1];
  LayerNormArgs<T> args{};
  args.places = Places(input);
  args.rows = input.shape[0] * num_groups;
  args.n = channels / num_groups * args.places;
  args.input = Contiguous(input, scratch).Data<const T>();
  args.weight = ContiguousOr<T>(1, weight, channels, scratch);
  args.affine_rows = num_groups;
  args.order = order;
  return args;
}

void CheckGrad(std::string_view op, const TensorView& grad_output, const TensorView& input, const TensorView& mean,
               const TensorView& rstd, const OptionalTensor& weight) {
  CheckInput(op, input);
  const int64_t channels = input.shape[1];
  CheckFloat({op, "grad_output"}, grad_output, input.shape, input);
  CheckFloat({op, "mean"}, mean, input);
  CheckRank({op, "mean"}, mean, 2, 2, "(n, num_groups)");
  const int64_t num_groups = mean.shape[1];
  REPDL_CHECK(mean.shape[0] == input.shape[0] && num_groups > 0 && channels % num_groups == 0, ArgName{op, "mean"},
              " must have the shape (", input.shape[0], ", num_groups) with a divisor of the ", channels,
              " channels of input, got ", Name(mean.shape));
  CheckFloat({op, "rstd"}, rstd, mean.shape, input);
  CheckFloat({op, "weight"}, weight, {channels}, input);
}

/// The gradients by weight and bias are both null where only that by the input is asked for.
void RunGrad(std::string_view op, const TensorView& grad_output, const TensorView& input, const TensorView& mean,
             const TensorView& rstd, const OptionalTensor& weight, Order order, const TensorView& grad_input,
             const TensorView* grad_weight, const TensorView* grad_bias) {
  const Place place = PlaceOf(op, input);
  const bool of_parameters = grad_weight != nullptr;
  if (input.numel() == 0) {
    if (of_parameters) FillWithZero(place, *grad_weight);
    if (of_parameters) FillWithZero(place, *grad_bias);
    return;
  }
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    LayerNormArgs<T> rows = MakeRows<T>(input, mean.shape[1], weight, order, scratch);
    rows.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    rows.mean = Contiguous(mean, scratch).Data<T>();
    rows.rstd = Contiguous(rstd, scratch).Data<T>();
    rows.grad_input = grad_input.Data<T>();
    LayerNormGradKernel(place, rows);
    if (!of_parameters) return;
    GroupNormGradKernel(place, GroupNormGradArgs<T>{.samples = input.shape[0],
                                                    .channels = input.shape[1],
                                                    .places = Places(input),
                                                    .groups = mean.shape[1],
                                                    .grad_output = rows.grad_output,
                                                    .input = rows.input,
                                                    .mean = rows.mean,
                                                    .rstd = rows.rstd,
                                                    .order = order,
                                                    .grad_weight = grad_weight->Data<T>(),
                                                    .grad_bias = grad_bias->Data<T>()});
  });
}

}  // namespace

Specs InferGroupNorm(const TensorView& input, int64_t num_groups, const OptionalTensor& weight,
                     const OptionalTensor& bias, double, Order) {
  CheckInput("group_norm", input);
  const int64_t channels = input.shape[1];
  REPDL_CHECK(num_groups > 0 && channels % num_groups == 0, ArgName{"group_norm", "num_groups"},
              " must be a divisor of the ", channels, " channels of input, got ", num_groups);
  CheckFloat({"group_norm", "weight"}, weight, {channels}, input);
  CheckFloat({"group_norm", "bias"}, bias, {channels}, input);
  REPDL_CHECK(channels > 0 && Places(input) > 0, ArgName{"group_norm", "input"}, " of shape ", Name(input.shape),
              " has no value a group to take the mean of");
  const IntList groups{input.shape[0], num_groups};
  return Specs{{input.dtype, input.shape}, {input.dtype, groups}, {input.dtype, groups}}.OfBatch(1);
}

void GroupNorm(const TensorView& input, int64_t num_groups, const OptionalTensor& weight, const OptionalTensor& bias,
               double eps, Order order, Out output, Out mean, Out rstd) {
  const FpEnvGuard guard;
  CheckOutputs("group_norm", InferGroupNorm(input, num_groups, weight, bias, eps, order), {&output, &mean, &rstd},
               input);
  const Place place = PlaceOf("group_norm", input);
  if (input.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    LayerNormArgs<T> args = MakeRows<T>(input, num_groups, weight, order, scratch);
    args.bias = ContiguousOr<T>(-0.0, bias, input.shape[1], scratch);
    args.eps = static_cast<T>(eps);
    args.mean = mean.Data<T>();
    args.rstd = rstd.Data<T>();
    args.output = output.Data<T>();
    LayerNormKernel(place, args);
  });
}

Specs InferGroupNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                         const TensorView& rstd, const OptionalTensor& weight, Order) {
  CheckGrad("group_norm_grad", grad_output, input, mean, rstd, weight);
  const IntList channels{input.shape[1]};
  return {{input.dtype, input.shape}, {input.dtype, channels}, {input.dtype, channels}};
}

void GroupNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                   const TensorView& rstd, const OptionalTensor& weight, Order order, Out grad_input, Out grad_weight,
                   Out grad_bias) {
  const FpEnvGuard guard;
  CheckOutputs("group_norm_grad", InferGroupNormGrad(grad_output, input, mean, rstd, weight, order),
               {&grad_input, &grad_weight, &grad_bias}, input);
  RunGrad("group_norm_grad", grad_output, input, mean, rstd, weight, order, grad_input, &grad_weight, &grad_bias);
}

Specs InferGroupNormGradInput(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                              const TensorView& rstd, const OptionalTensor& weight, Order) {
  CheckGrad("group_norm_grad_input", grad_output, input, mean, rstd, weight);
  return {{input.dtype, input.shape}};
}

void GroupNormGradInput(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                        const TensorView& rstd, const OptionalTensor& weight, Order order, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("group_norm_grad_input", InferGroupNormGradInput(grad_output, input, mean, rstd, weight, order),
               {&grad_input}, input);
  RunGrad("group_norm_grad_input", grad_output, input, mean, rstd, weight, order, grad_input, nullptr, nullptr);
}

}  // namespace repdl

REPDL_OPS(group_norm,
          MakeOp<InferGroupNorm, GroupNorm, LayerNormKernel>(
              "group_norm", "input, num_groups, weight=None, bias=None, eps=1e-05, order='blocked'", kFloat32Or64),
          MakeOp<InferGroupNormGrad, GroupNormGrad, LayerNormGradKernel, GroupNormGradKernel>(
              "group_norm_grad", "grad_output, input, mean, rstd, weight=None, order='blocked'", kFloat32Or64),
          MakeOp<InferGroupNormGradInput, GroupNormGradInput, LayerNormGradKernel>(
              "group_norm_grad_input", "grad_output, input, mean, rstd, weight=None, order='blocked'", kFloat32Or64))
