// SPDX-License-Identifier: MIT
#include "repdl/ops/uniform.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/uniform/uniform_kernel.h"

namespace repdl {

Specs InferUniform(const TensorView& input, double low, double high) {
  CheckFloat({"uniform", "input"}, input, input);
  REPDL_CHECK(low <= high, ArgName{"uniform", "low"}, " ", low, " must not be above high, ", high);
  return {{DType::kFloat32, input.shape}};
}

void Uniform(const TensorView& input, double low, double high, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("uniform", InferUniform(input, low, high), {&output}, input);
  const Place place = PlaceOf("uniform", input);
  if (output.numel() == 0) return;
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  UniformKernel(place, {MakeMapArgs({&input}, output), to - from, from});
}

}  // namespace repdl

REPDL_OPS(uniform, MakeOp<InferUniform, Uniform, UniformKernel>("uniform", "input, low, high"))
