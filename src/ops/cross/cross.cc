// SPDX-License-Identifier: MIT
#include "repdl/ops/cross.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/cross/cross_kernel.h"

namespace repdl {

Specs InferCross(const TensorView& input, const TensorView& other, int64_t dim) {
  const ArgName name{"cross", "input"};
  CheckFloat(name, input, input);
  CheckFloat({"cross", "other"}, other, input.shape, input);
  CheckRank(name, input, 1, kMaxRank, "of one dimension or more");
  const int along = CheckDim({"cross", "dim"}, dim, input.rank());
  REPDL_CHECK(input.shape[along] == 3, name, " has size ", input.shape[along], " along dimension ", along,
              ", which must be 3: give vectors of three numbers");
  return {{input.dtype, input.shape}};
}

void Cross(const TensorView& input, const TensorView& other, int64_t dim, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("cross", InferCross(input, other, dim), {&output}, input);
  const Place place = PlaceOf("cross", input);
  if (output.numel() == 0) return;
  const int along = CheckDim({"cross", "dim"}, dim, input.rank());
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != along) (i < along ? outer : inner) *= input.shape[i];
  }
  OpScratch scratch(place);
  const TensorView a = Contiguous(input, scratch), b = Contiguous(other, scratch);
  DispatchReal(input.dtype, [&]<class T>() {
    CrossKernel(place, CrossArgs<T>{outer, inner, a.Data<const T>(), b.Data<const T>(), output.Data<T>()});
  });
}

}  // namespace repdl

REPDL_OPS(cross, MakeOp<InferCross, Cross, CrossKernel>("cross", "input, other, dim=-1", kFloat32Or64))
