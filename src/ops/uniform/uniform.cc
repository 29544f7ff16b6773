// SPDX-License-Identifier: MIT
#include "repdl/ops/uniform.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/uniform/uniform_kernel.h"

namespace repdl {

Specs InferUniform(const TensorView& input, double low, double high) {
  CheckFloat({"uniform", "input"}, input, input);
  REPDL_CHECK(low <= high, ArgName{"uniform", "low"}, " ", low, " must not be above high, ", high);
  return {{input.dtype, input.shape}};
}

void Uniform(const TensorView& input, double low, double high, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("uniform", InferUniform(input, low, high), {&output}, input);
  const Place place = PlaceOf("uniform", input);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    const auto from = static_cast<T>(low), to = static_cast<T>(high);
    UniformKernel(place, UniformArgs<T>{MakeMapArgs({&input}, output), to - from, from});
  });
}

Specs InferBoxMuller(const TensorView& input, double, double std) {
  CheckFloat({"box_muller", "input"}, input, input);
  REPDL_CHECK(std >= 0.0, ArgName{"box_muller", "std"}, " must not be negative, got ", std);
  REPDL_CHECK(input.numel() % 16 == 0, ArgName{"box_muller", "input"}, " must have a multiple of 16 elements, got ",
              input.numel());
  return {{DType::kFloat32, input.shape}};
}

void BoxMuller(const TensorView& input, double mean, double std, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("box_muller", InferBoxMuller(input, mean, std), {&output}, input);
  const Place place = PlaceOf("box_muller", input);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  const TensorView numbers = Contiguous(input, scratch);
  BoxMullerKernel(place, {output.numel() / 16, numbers.Data<const float>(), output.Data<float>(),
                          static_cast<float>(mean), static_cast<float>(std)});
}

}  // namespace repdl

REPDL_OPS(uniform, MakeOp<InferBoxMuller, BoxMuller, BoxMullerKernel>("box_muller", "input, mean=0.0, std=1.0"),
          MakeOp<InferUniform, Uniform, UniformKernel>("uniform", "input, low, high", kFloat32Or64))
