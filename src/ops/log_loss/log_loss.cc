// SPDX-License-Identifier: MIT
#include "repdl/ops/log_loss.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "ops/elementwise/elementwise_kernel.h"
#include "ops/log_loss/log_loss_kernel.h"

namespace repdl {
namespace {

using OptionalTensor = std::optional<TensorView>;

Specs InferTerms(std::string_view op, const TensorView& input, const TensorView& target) {
  return {BroadcastSpec({{{op, "input"}, input}, {{op, "target"}, target}})};
}

Specs InferSlopes(std::string_view op, const TensorView& grad_output, const TensorView& input,
                  const TensorView& target) {
  return {BroadcastSpec({{{op, "grad_output"}, grad_output}, {{op, "input"}, input}, {{op, "target"}, target}})};
}

/// Checks, and calls fill(place) if there is something to fill.
template <class Fill>
void Run(std::string_view op, const Specs& specs, const TensorView& first, const TensorView& output, const Fill& fill) {
  const FpEnvGuard guard;
  CheckOutputs(op, specs, {&output}, first);
  const Place place = PlaceOf(op, first);
  if (output.numel() > 0) fill(place);
}

}  // namespace

Specs InferBinaryCrossEntropy(const TensorView& input, const TensorView& target, const OptionalTensor& weight) {
  constexpr std::string_view kOp = "binary_cross_entropy";
  if (!weight) return InferTerms(kOp, input, target);
  return {BroadcastSpec({{{kOp, "input"}, input}, {{kOp, "target"}, target}, {{kOp, "weight"}, *weight}})};
}
void BinaryCrossEntropy(const TensorView& input, const TensorView& target, const OptionalTensor& weight, Out output) {
  Run("binary_cross_entropy", InferBinaryCrossEntropy(input, target, weight), input, output, [&](const Place& place) {
    if (weight) {
      LogLossKernel(place, {LogLoss::kWeightedEntropy, MakeMapArgs({&input, &target, &*weight}, output), 1});
    } else {
      LogLossKernel(place, {LogLoss::kBinaryCrossEntropy, MakeMapArgs({&input, &target}, output), 1});
    }
  });
}

Specs InferBinaryCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                                  const OptionalTensor& weight, double) {
  constexpr std::string_view kOp = "binary_cross_entropy_grad";
  if (!weight) return InferSlopes(kOp, grad_output, input, target);
  return {BroadcastSpec({{{kOp, "grad_output"}, grad_output},
                         {{kOp, "input"}, input},
                         {{kOp, "target"}, target},
                         {{kOp, "weight"}, *weight}})};
}
void BinaryCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                            const OptionalTensor& weight, double part, Out grad_input) {
  Run("binary_cross_entropy_grad", InferBinaryCrossEntropyGrad(grad_output, input, target, weight, part), grad_output,
      grad_input, [&](const Place& place) {
        OpScratch scratch(place);
        const bool is_rounded = weight && ItemSize(grad_input.dtype) == 2;  // once, after the weight
        const TensorView slopes = is_rounded ? scratch.New(DType::kFloat32, grad_input.shape) : grad_input;
        LogLossKernel(place,
                      {LogLoss::kBinaryCrossEntropyGrad, MakeMapArgs({&grad_output, &input, &target}, slopes), part});
        if (weight) MulKernel(place, MakeMapArgs({&slopes, &*weight}, grad_input));
      });
}

Specs InferSoftMargin(const TensorView& input, const TensorView& target) {
  return InferTerms("soft_margin", input, target);
}
void SoftMargin(const TensorView& input, const TensorView& target, Out output) {
  Run("soft_margin", InferSoftMargin(input, target), input, output, [&](const Place& place) {
    LogLossKernel(place, {LogLoss::kSoftMargin, MakeMapArgs({&input, &target}, output), 1});
  });
}

Specs InferSoftMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double) {
  return InferSlopes("soft_margin_grad", grad_output, input, target);
}
void SoftMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double part,
                    Out grad_input) {
  Run("soft_margin_grad", InferSoftMarginGrad(grad_output, input, target, part), grad_output, grad_input,
      [&](const Place& place) {
        LogLossKernel(place,
                      {LogLoss::kSoftMarginGrad, MakeMapArgs({&grad_output, &input, &target}, grad_input), part});
      });
}

}  // namespace repdl

REPDL_OPS(log_loss,
          MakeOp<InferBinaryCrossEntropy, BinaryCrossEntropy, LogLossKernel>("binary_cross_entropy",
                                                                             "input, target, weight=None",
                                                                             kUpToFloat64),
          MakeOp<InferBinaryCrossEntropyGrad, BinaryCrossEntropyGrad, LogLossKernel, MulKernel>(
              "binary_cross_entropy_grad", "grad_output, input, target, weight=None, part=1.0", kUpToFloat64),
          MakeOp<InferSoftMargin, SoftMargin, LogLossKernel>("soft_margin", "input, target", kUpToFloat64),
          MakeOp<InferSoftMarginGrad, SoftMarginGrad, LogLossKernel>("soft_margin_grad",
                                                                     "grad_output, input, target, part=1.0",
                                                                     kUpToFloat64))
