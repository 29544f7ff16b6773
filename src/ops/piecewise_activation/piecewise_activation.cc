// SPDX-License-Identifier: MIT
#include "repdl/ops/piecewise_activation.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/piecewise_activation/piecewise_activation_kernel.h"

namespace repdl {
namespace {

struct Numbers {
  double of[4];
};

Specs InferSlope(std::string_view op, const TensorView& grad_output, const TensorView& input,
                 std::string_view input_name = "input") {
  return {BroadcastSpec({{{op, "grad_output"}, grad_output}, {{op, input_name}, input}})};
}

void Run(PiecewiseActivation activation, std::string_view op, const Specs& specs,
         std::initializer_list<const TensorView*> inputs, const Numbers& numbers, const TensorView& output) {
  const FpEnvGuard guard;
  const TensorView& first = **inputs.begin();
  CheckOutputs(op, specs, {&output}, first);
  const Place place = PlaceOf(op, first);
  if (output.numel() == 0) return;
  const auto& [a, b, c, e] = numbers.of;
  PiecewiseActivationKernel(place, {activation, MakeMapArgs(inputs, output), {a, b, c, e}});
}

}  // namespace

Specs InferSoftshrink(const TensorView& input, double lambd) {
  CheckFloating({"softshrink", "input"}, input);
  REPDL_CHECK(lambd >= 0, ArgName{"softshrink", "lambd"}, " must be 0 or more, got ", lambd);
  return {{input.dtype, input.shape}};
}
void Softshrink(const TensorView& input, double lambd, Out output) {
  Run(PiecewiseActivation::kSoftshrink, "softshrink", InferSoftshrink(input, lambd), {&input}, {{lambd}}, output);
}

Specs InferShrinkGrad(const TensorView& grad_output, const TensorView& input, double) {
  return InferSlope("shrink_grad", grad_output, input);
}
void ShrinkGrad(const TensorView& grad_output, const TensorView& input, double lambd, Out grad_input) {
  Run(PiecewiseActivation::kShrinkGrad, "shrink_grad", InferShrinkGrad(grad_output, input, lambd),
      {&grad_output, &input}, {{lambd}}, grad_input);
}

Specs InferHardtanhGrad(const TensorView& grad_output, const TensorView& input, double, double) {
  return InferSlope("hardtanh_grad", grad_output, input);
}
void HardtanhGrad(const TensorView& grad_output, const TensorView& input, double min_val, double max_val,
                  Out grad_input) {
  Run(PiecewiseActivation::kHardtanhGrad, "hardtanh_grad", InferHardtanhGrad(grad_output, input, min_val, max_val),
      {&grad_output, &input}, {{min_val, max_val}}, grad_input);
}

Specs InferHardsigmoid(const TensorView& input) {
  CheckFloating({"hardsigmoid", "input"}, input);
  return {{input.dtype, input.shape}};
}
void Hardsigmoid(const TensorView& input, Out output) {
  Run(PiecewiseActivation::kHardsigmoid, "hardsigmoid", InferHardsigmoid(input), {&input}, {}, output);
}

Specs InferHardsigmoidGrad(const TensorView& grad_output, const TensorView& input) {
  return InferSlope("hardsigmoid_grad", grad_output, input);
}
void HardsigmoidGrad(const TensorView& grad_output, const TensorView& input, Out grad_input) {
  Run(PiecewiseActivation::kHardsigmoidGrad, "hardsigmoid_grad", InferHardsigmoidGrad(grad_output, input),
      {&grad_output, &input}, {}, grad_input);
}

Specs InferHardswish(const TensorView& input) {
  CheckFloating({"hardswish", "input"}, input);
  return {{input.dtype, input.shape}};
}
void Hardswish(const TensorView& input, Out output) {
  Run(PiecewiseActivation::kHardswish, "hardswish", InferHardswish(input), {&input}, {}, output);
}

Specs InferHardswishGrad(const TensorView& grad_output, const TensorView& input) {
  return InferSlope("hardswish_grad", grad_output, input);
}
void HardswishGrad(const TensorView& grad_output, const TensorView& input, Out grad_input) {
  Run(PiecewiseActivation::kHardswishGrad, "hardswish_grad", InferHardswishGrad(grad_output, input),
      {&grad_output, &input}, {}, grad_input);
}

Specs InferScaledElu(const TensorView& input, double, double, double) {
  CheckFloating({"scaled_elu", "input"}, input);
  return {{input.dtype, input.shape}};
}
void ScaledElu(const TensorView& input, double alpha, double scale, double input_scale, Out output) {
  const FpEnvGuard guard;
  Run(PiecewiseActivation::kScaledElu, "scaled_elu", InferScaledElu(input, alpha, scale, input_scale), {&input},
      {{alpha * scale, scale, input_scale}}, output);
}

Specs InferScaledEluGrad(const TensorView& grad_output, double, double, double, bool,
                         const TensorView& self_or_result) {
  return InferSlope("scaled_elu_grad", grad_output, self_or_result, "self_or_result");
}
void ScaledEluGrad(const TensorView& grad_output, double alpha, double scale, double input_scale, bool is_result,
                   const TensorView& self_or_result, Out grad_input) {
  const FpEnvGuard guard;
  const Specs specs = InferScaledEluGrad(grad_output, alpha, scale, input_scale, is_result, self_or_result);
  const double product = alpha * scale;
  Run(is_result ? PiecewiseActivation::kScaledEluGradOfResult : PiecewiseActivation::kScaledEluGrad, "scaled_elu_grad",
      specs, {&grad_output, &self_or_result}, {{product, scale, input_scale, input_scale * product}}, grad_input);
}

Specs InferLogitGrad(const TensorView& grad_output, const TensorView& input, std::optional<double>) {
  return InferSlope("logit_grad", grad_output, input);
}
void LogitGrad(const TensorView& grad_output, const TensorView& input, std::optional<double> eps, Out grad_input) {
  const FpEnvGuard guard;
  const double least = eps.value_or(0);
  Run(eps ? PiecewiseActivation::kLogitGradWithin : PiecewiseActivation::kLogitGrad, "logit_grad",
      InferLogitGrad(grad_output, input, eps), {&grad_output, &input}, {{least, 1 - least}}, grad_input);
}

Specs InferScaledSoftplus(const TensorView& input, double, double) {
  CheckFloating({"scaled_softplus", "input"}, input);
  return {{input.dtype, input.shape}};
}
void ScaledSoftplus(const TensorView& input, double beta, double threshold, Out output) {
  Run(PiecewiseActivation::kScaledSoftplus, "scaled_softplus", InferScaledSoftplus(input, beta, threshold), {&input},
      {{beta, threshold}}, output);
}

Specs InferScaledSoftplusGrad(const TensorView& grad_output, const TensorView& input, double, double) {
  return InferSlope("scaled_softplus_grad", grad_output, input);
}
void ScaledSoftplusGrad(const TensorView& grad_output, const TensorView& input, double beta, double threshold,
                        Out grad_input) {
  Run(PiecewiseActivation::kScaledSoftplusGrad, "scaled_softplus_grad",
      InferScaledSoftplusGrad(grad_output, input, beta, threshold), {&grad_output, &input}, {{beta, threshold}},
      grad_input);
}

}  // namespace repdl

REPDL_OPS(piecewise_activation,
          MakeOp<InferSoftshrink, Softshrink, PiecewiseActivationKernel>("softshrink", "input, lambd=0.5",
                                                                         kUpToFloat64),
          MakeOp<InferShrinkGrad, ShrinkGrad, PiecewiseActivationKernel>("shrink_grad", "grad_output, input, lambd=0.5",
                                                                         kUpToFloat64),
          MakeOp<InferHardtanhGrad, HardtanhGrad, PiecewiseActivationKernel>(
              "hardtanh_grad", "grad_output, input, min_val=-1.0, max_val=1.0", kUpToFloat64),
          MakeOp<InferHardsigmoid, Hardsigmoid, PiecewiseActivationKernel>("hardsigmoid", "input", kUpToFloat64),
          MakeOp<InferHardsigmoidGrad, HardsigmoidGrad, PiecewiseActivationKernel>("hardsigmoid_grad",
                                                                                   "grad_output, input", kUpToFloat64),
          MakeOp<InferHardswish, Hardswish, PiecewiseActivationKernel>("hardswish", "input", kUpToFloat64),
          MakeOp<InferHardswishGrad, HardswishGrad, PiecewiseActivationKernel>("hardswish_grad", "grad_output, input",
                                                                               kUpToFloat64),
          MakeOp<InferScaledElu, ScaledElu, PiecewiseActivationKernel>("scaled_elu",
                                                                       "input, alpha=1.0, scale=1.0, input_scale=1.0",
                                                                       kUpToFloat64),
          MakeOp<InferScaledEluGrad, ScaledEluGrad, PiecewiseActivationKernel>(
              "scaled_elu_grad", "grad_output, alpha, scale, input_scale, is_result, self_or_result", kUpToFloat64),
          MakeOp<InferLogitGrad, LogitGrad, PiecewiseActivationKernel>("logit_grad", "grad_output, input, eps=None",
                                                                       kUpToFloat64),
          MakeOp<InferScaledSoftplus, ScaledSoftplus, PiecewiseActivationKernel>("scaled_softplus",
                                                                                 "input, beta=1.0, threshold=20.0",
                                                                                 kUpToFloat64),
          MakeOp<InferScaledSoftplusGrad, ScaledSoftplusGrad, PiecewiseActivationKernel>(
              "scaled_softplus_grad", "grad_output, input, beta=1.0, threshold=20.0", kUpToFloat64))
