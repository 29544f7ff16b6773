// SPDX-License-Identifier: MIT
#include "repdl/ops/logsumexp.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/reduced_dims.h"
#include "ops/logsumexp/logsumexp_kernel.h"

namespace repdl {

Specs InferLogSumExp(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  CheckFloat({"logsumexp", "input"}, input, input);
  return {{input.dtype, ReducedDims({"logsumexp", "dim"}, input, dim).OutputShape(input, keepdim)}};
}

void LogSumExp(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("logsumexp", InferLogSumExp(input, dim, keepdim, order), {&output}, input);
  const Place place = PlaceOf("logsumexp", input);
  if (output.numel() == 0) return;
  DispatchReal(input.dtype, [&]<class T>() {
    const ReducedDims dims({"logsumexp", "dim"}, input, dim);
    LogSumExpArgs<T> args{output.numel(), dims.count, input.Data<const T>(), {}, {}, order, output.Data<T>()};
    // A tensor without numbers may lie nowhere: nothing steps through it.
    if (dims.count > 0) SplitLoops(input, dims.reduced, args.kept, args.reduced);
    LogSumExpKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(logsumexp, MakeOp<InferLogSumExp, LogSumExp, LogSumExpKernel>(
                         "logsumexp", "input, dim=None, keepdim=False, order='blocked'", kFloat32Or64))
