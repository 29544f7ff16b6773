// SPDX-License-Identifier: MIT
// The layer that checks. What is below it trusts its arguments.
#include "repdl/ops/skeleton.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/skeleton/skeleton_kernel.h"

namespace repdl {

// Reads shapes and dtypes, never data: torch asks it about tensors without memory.
Specs InferSkeleton(const TensorView& input, double /*factor*/) {
  CheckFloat({"skeleton", "input"}, input, input);
  return {{DType::kFloat32, input.shape}};
}

void Skeleton(const TensorView& input, double factor, Out output) {
  const FpEnvGuard guard;  // the caller's rounding mode stays outside
  CheckOutputs("skeleton", InferSkeleton(input, factor), {&output}, input);
  const Place place = PlaceOf("skeleton", input);
  if (output.numel() == 0) return;
  SkeletonKernel(place, {MakeMapArgs({&input}, output), static_cast<float>(factor)});
}

}  // namespace repdl

// The op in the table: the Python module, torch and the golden files take it from here.
REPDL_OPS(skeleton, MakeOp<InferSkeleton, Skeleton, SkeletonKernel>("skeleton", "input, factor=1.0"))
