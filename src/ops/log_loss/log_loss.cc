// SPDX-License-Identifier: MIT
#include "repdl/ops/log_loss.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/log_loss/log_loss_kernel.h"

namespace repdl {
namespace {

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

Specs InferBinaryCrossEntropy(const TensorView& input, const TensorView& target) {
  return InferTerms("binary_cross_entropy", input, target);
}
void BinaryCrossEntropy(const TensorView& input, const TensorView& target, Out output) {
  Run(LogLoss::kBinaryCrossEntropy, "binary_cross_entropy", InferBinaryCrossEntropy(input, target), {&input, &target},
      1, output);
}

Specs InferBinaryCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                                  double) {
  return InferSlopes("binary_cross_entropy_grad", grad_output, input, target);
}
void BinaryCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                            double part, Out grad_input) {
  Run(LogLoss::kBinaryCrossEntropyGrad, "binary_cross_entropy_grad",
      InferBinaryCrossEntropyGrad(grad_output, input, target, part), {&grad_output, &input, &target}, part, grad_input);
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
          MakeOp<InferBinaryCrossEntropy, BinaryCrossEntropy, LogLossKernel>("binary_cross_entropy", "input, target",
                                                                             kUpToFloat64),
          MakeOp<InferBinaryCrossEntropyGrad, BinaryCrossEntropyGrad, LogLossKernel>(
              "binary_cross_entropy_grad", "grad_output, input, target, part=1.0", kUpToFloat64),
          MakeOp<InferSoftMargin, SoftMargin, LogLossKernel>("soft_margin", "input, target", kUpToFloat64),
          MakeOp<InferSoftMarginGrad, SoftMarginGrad, LogLossKernel>("soft_margin_grad",
                                                                     "grad_output, input, target, part=1.0",
                                                                     kUpToFloat64))
