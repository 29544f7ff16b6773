// SPDX-License-Identifier: MIT
#include "repdl/ops/spaced.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/spaced/spaced_kernel.h"

namespace repdl {

Specs InferSpaced(const TensorView& input, double, double, int64_t count) {
  CheckFloating({"spaced", "input"}, input);
  REPDL_CHECK(count >= 2, ArgName{"spaced", "count"}, " must be 2 or more, got ", count,
              "; a single number needs no step");
  return {{input.dtype, input.shape}};
}

void Spaced(const TensorView& input, double start, double end, int64_t count, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("spaced", InferSpaced(input, start, end, count), {&output}, input);
  const Place place = PlaceOf("spaced", input);
  if (output.numel() > 0) SpacedKernel(place, {MakeMapArgs({&input}, output), start, end, count});
}

}  // namespace repdl

REPDL_OPS(spaced, MakeOp<InferSpaced, Spaced, SpacedKernel>("spaced", "input, start, end, count", kUpToFloat64))
