// SPDX-License-Identifier: MIT
#include "repdl/ops/piecewise_loss.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/piecewise_loss/piecewise_loss_kernel.h"

namespace repdl {
namespace {

void CheckBeta(std::string_view op, double beta) {
  REPDL_CHECK(beta >= 0, ArgName{op, "beta"}, " must be 0 or more, got ", beta);
}

void CheckDelta(std::string_view op, double delta) {
  REPDL_CHECK(delta > 0, ArgName{op, "delta"}, " must be above 0, got ", delta);
}

Specs InferTerms(std::string_view op, const TensorView& input, const TensorView& target) {
  return {BroadcastSpec({{{op, "input"}, input}, {{op, "target"}, target}})};
}

Specs InferSlopes(std::string_view op, const TensorView& grad_output, const TensorView& input,
                  const TensorView& target) {
  return {BroadcastSpec({{{op, "grad_output"}, grad_output}, {{op, "input"}, input}, {{op, "target"}, target}})};
}

void Run(PiecewiseLoss loss, std::string_view op, const Specs& specs, std::initializer_list<const TensorView*> inputs,
         double bound, double part, const TensorView& output) {
  const FpEnvGuard guard;
  const TensorView& first = **inputs.begin();
  CheckOutputs(op, specs, {&output}, first);
  const Place place = PlaceOf(op, first);
  if (output.numel() > 0) PiecewiseLossKernel(place, {loss, MakeMapArgs(inputs, output), bound, part});
}

}  // namespace

Specs InferSmoothL1(const TensorView& input, const TensorView& target, double beta) {
  CheckBeta("smooth_l1", beta);
  return InferTerms("smooth_l1", input, target);
}
void SmoothL1(const TensorView& input, const TensorView& target, double beta, Out output) {
  Run(PiecewiseLoss::kSmoothL1, "smooth_l1", InferSmoothL1(input, target, beta), {&input, &target}, beta, 1, output);
}

Specs InferSmoothL1Grad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double beta,
                        double) {
  CheckBeta("smooth_l1_grad", beta);
  return InferSlopes("smooth_l1_grad", grad_output, input, target);
}
void SmoothL1Grad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double beta,
                  double part, Out grad_input) {
  Run(PiecewiseLoss::kSmoothL1Grad, "smooth_l1_grad", InferSmoothL1Grad(grad_output, input, target, beta, part),
      {&grad_output, &input, &target}, beta, part, grad_input);
}

Specs InferHuber(const TensorView& input, const TensorView& target, double delta) {
  CheckDelta("huber", delta);
  return InferTerms("huber", input, target);
}
void Huber(const TensorView& input, const TensorView& target, double delta, Out output) {
  Run(PiecewiseLoss::kHuber, "huber", InferHuber(input, target, delta), {&input, &target}, delta, 1, output);
}

Specs InferHuberGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double delta,
                     double) {
  CheckDelta("huber_grad", delta);
  return InferSlopes("huber_grad", grad_output, input, target);
}
void HuberGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double delta,
               double part, Out grad_input) {
  Run(PiecewiseLoss::kHuberGrad, "huber_grad", InferHuberGrad(grad_output, input, target, delta, part),
      {&grad_output, &input, &target}, delta, part, grad_input);
}

}  // namespace repdl

REPDL_OPS(piecewise_loss,
          MakeOp<InferSmoothL1, SmoothL1, PiecewiseLossKernel>("smooth_l1", "input, target, beta=1.0", kUpToFloat64),
          MakeOp<InferSmoothL1Grad, SmoothL1Grad, PiecewiseLossKernel>("smooth_l1_grad",
                                                                       "grad_output, input, target, beta=1.0, part=1.0",
                                                                       kUpToFloat64),
          MakeOp<InferHuber, Huber, PiecewiseLossKernel>("huber", "input, target, delta=1.0", kUpToFloat64),
          MakeOp<InferHuberGrad, HuberGrad, PiecewiseLossKernel>("huber_grad",
                                                                 "grad_output, input, target, delta=1.0, part=1.0",
                                                                 kUpToFloat64))
