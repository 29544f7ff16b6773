// SPDX-License-Identifier: MIT
#include "repdl/ops/clamp.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/clamp/clamp_kernel.h"

namespace repdl {

Specs InferClamp(const TensorView& input, double, double) {
  CheckFloating({"clamp", "input"}, input);
  return {{input.dtype, input.shape}};
}

void Clamp(const TensorView& input, double min, double max, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("clamp", InferClamp(input, min, max), {&output}, input);
  const Place place = PlaceOf("clamp", input);
  if (output.numel() == 0) return;
  ClampKernel(place, {MakeMapArgs({&input}, output), min, max});
}

Specs InferClampTensor(const TensorView& input, const TensorView& min, const TensorView& max) {
  constexpr const char* kOp = "clamp_tensor";
  return {BroadcastSpec({{{kOp, "input"}, input}, {{kOp, "min"}, min}, {{kOp, "max"}, max}})};
}

void ClampTensor(const TensorView& input, const TensorView& min, const TensorView& max, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("clamp_tensor", InferClampTensor(input, min, max), {&output}, input);
  const Place place = PlaceOf("clamp_tensor", input);
  if (output.numel() > 0) ClampKernel(place, {MakeMapArgs({&input, &min, &max}, output), 0, 0});
}

}  // namespace repdl

REPDL_OPS(clamp, MakeOp<InferClamp, Clamp, ClampKernel>("clamp", "input, min, max", kUpToFloat64),
          MakeOp<InferClampTensor, ClampTensor, ClampKernel>("clamp_tensor", "input, min, max", kUpToFloat64))
