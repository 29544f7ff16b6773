// SPDX-License-Identifier: MIT
#include "repdl/ops/amax.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/reduced_dims.h"
#include "ops/amax/amax_kernel.h"

namespace repdl {
namespace {

Specs Infer(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  CheckFloating({op, "input"}, input);
  const ReducedDims reduced({op, "dim"}, input, dim);
  REPDL_CHECK(reduced.count > 0, ArgName{op, "input"}, " of shape ", Name(input.shape),
              " has no numbers to reduce, of which none is the ", op == "amax" ? "largest" : "smallest",
              "; give it some");
  return {{input.dtype, reduced.OutputShape(input, keepdim)}};
}

void Run(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool smallest,
         const TensorView& output) {
  const FpEnvGuard guard;
  CheckOutputs(op, Infer(op, input, dim, keepdim), {&output}, input);
  const Place place = PlaceOf(op, input);
  if (output.numel() == 0) return;
  AmaxArgs args{input.data, input.dtype, {}, {}, smallest, output.data};
  SplitLoops(input, ReducedDims({op, "dim"}, input, dim).reduced, args.kept, args.reduced);
  AmaxKernel(place, args);
}

}  // namespace

Specs InferAmax(const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  return Infer("amax", input, dim, keepdim);
}
void Amax(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output) {
  Run("amax", input, dim, keepdim, /*smallest=*/false, output);
}

Specs InferAmin(const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  return Infer("amin", input, dim, keepdim);
}
void Amin(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output) {
  Run("amin", input, dim, keepdim, /*smallest=*/true, output);
}

}  // namespace repdl

REPDL_OPS(amax, MakeOp<InferAmax, Amax, AmaxKernel>("amax", "input, dim=None, keepdim=False", kUpToFloat64),
          MakeOp<InferAmin, Amin, AmaxKernel>("amin", "input, dim=None, keepdim=False", kUpToFloat64))
