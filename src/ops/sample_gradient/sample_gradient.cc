// SPDX-License-Identifier: MIT
#include "repdl/ops/sample_gradient.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/sample_gradient/sample_gradient_kernel.h"

namespace repdl {

Specs InferStandardGammaGrad(const TensorView& input, const TensorView& output) {
  constexpr const char* kOp = "standard_gamma_grad";
  return {BroadcastSpec({{{kOp, "input"}, input}, {{kOp, "output"}, output}})};
}

void StandardGammaGrad(const TensorView& input, const TensorView& output, Out grad) {
  const FpEnvGuard guard;
  CheckOutputs("standard_gamma_grad", InferStandardGammaGrad(input, output), {&grad}, input);
  const Place place = PlaceOf("standard_gamma_grad", input);
  const TensorView& result = grad;
  if (result.numel() > 0) StandardGammaGradKernel(place, MakeMapArgs({&input, &output}, result));
}

Specs InferDirichletGrad(const TensorView& x, const TensorView& alpha, const TensorView& total) {
  constexpr const char* kOp = "dirichlet_grad";
  return {BroadcastSpec({{{kOp, "x"}, x}, {{kOp, "alpha"}, alpha}, {{kOp, "total"}, total}})};
}

void DirichletGrad(const TensorView& x, const TensorView& alpha, const TensorView& total, Out grad) {
  const FpEnvGuard guard;
  CheckOutputs("dirichlet_grad", InferDirichletGrad(x, alpha, total), {&grad}, x);
  const Place place = PlaceOf("dirichlet_grad", x);
  const TensorView& result = grad;
  if (result.numel() > 0) DirichletGradKernel(place, MakeMapArgs({&x, &alpha, &total}, result));
}

}  // namespace repdl

REPDL_OPS(sample_gradient,
          MakeOp<InferStandardGammaGrad, StandardGammaGrad, StandardGammaGradKernel>("standard_gamma_grad",
                                                                                     "input, output", kUpToFloat64),
          MakeOp<InferDirichletGrad, DirichletGrad, DirichletGradKernel>("dirichlet_grad", "x, alpha, total",
                                                                         kUpToFloat64))
