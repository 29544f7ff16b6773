// SPDX-License-Identifier: MIT
#include "repdl/ops/log_loss.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
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

void Run(LogLoss loss, std::string_view op, const Specs& specs, std::initializer_list<const TensorView*> inputs,
         double part, const TensorView& output) {
  const FpEnvGuard guard;
  const TensorView& first = **inputs.begin();
  CheckOutputs(op, specs, {&output}, first);
  const Place place = PlaceOf(op, first);
  if (output.numel() > 0) LogLossKernel(place, {loss, MakeMapArgs(inputs, output), part});
}

}  // namespace

Specs InferBinaryCrossEntropy(const TensorView& input, const TensorView& target, const OptionalTensor& weight) {
  constexpr std::string_view kOp = "binary_cross_entropy";
  if (!weight) return InferTerms(kOp, input, target);
  return {BroadcastSpec({{{kOp, "input"}, input}, {{kOp, "target"}, target}, {{kOp, "weight"}, *weight}})};
}
void BinaryCrossEntropy(const TensorView& input, const TensorView& target, const OptionalTensor& weight, Out output) {
  const Specs specs = InferBinaryCrossEntropy(input, target, weight);
  if (!weight) return Run(LogLoss::kBinaryCrossEntropy, "binary_cross_entropy", specs, {&input, &target}, 1, output);
  Run(LogLoss::kWeightedEntropy, "binary_cross_entropy", specs, {&input, &target, &*weight}, 1, output);
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
  constexpr std::string_view kOp = "binary_cross_entropy_grad";
  const Specs specs = InferBinaryCrossEntropyGrad(grad_output, input, target, weight, part);
  if (!weight) {
    return Run(LogLoss::kBinaryCrossEntropyGrad, kOp, specs, {&grad_output, &input, &target}, part, grad_input);
  }
  Run(LogLoss::kWeightedEntropyGrad, kOp, specs, {&grad_output, &input, &target, &*weight}, part, grad_input);
}

Specs InferSoftMargin(const TensorView& input, const TensorView& target) {
  return InferTerms("soft_margin", input, target);
}
void SoftMargin(const TensorView& input, const TensorView& target, Out output) {
  Run(LogLoss::kSoftMargin, "soft_margin", InferSoftMargin(input, target), {&input, &target}, 1, output);
}

Specs InferSoftMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double) {
  return InferSlopes("soft_margin_grad", grad_output, input, target);
}
void SoftMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double part,
                    Out grad_input) {
  Run(LogLoss::kSoftMarginGrad, "soft_margin_grad", InferSoftMarginGrad(grad_output, input, target, part),
      {&grad_output, &input, &target}, part, grad_input);
}

}  // namespace repdl

REPDL_OPS(log_loss,
          MakeOp<InferBinaryCrossEntropy, BinaryCrossEntropy, LogLossKernel>("binary_cross_entropy",
                                                                             "input, target, weight=None",
                                                                             kUpToFloat64),
          MakeOp<InferBinaryCrossEntropyGrad, BinaryCrossEntropyGrad, LogLossKernel>(
              "binary_cross_entropy_grad", "grad_output, input, target, weight=None, part=1.0", kUpToFloat64),
          MakeOp<InferSoftMargin, SoftMargin, LogLossKernel>("soft_margin", "input, target", kUpToFloat64),
          MakeOp<InferSoftMarginGrad, SoftMarginGrad, LogLossKernel>("soft_margin_grad",
                                                                     "grad_output, input, target, part=1.0",
                                                                     kUpToFloat64))
