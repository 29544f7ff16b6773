// SPDX-License-Identifier: MIT
#include "repdl/ops/prod.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/reduced_dims.h"
#include "numerics/order.h"
#include "ops/prod/prod_kernel.h"

namespace repdl {

Specs InferProd(const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  CheckFloat({"prod", "input"}, input, input);
  return {{input.dtype, ReducedDims({"prod", "dim"}, input, dim).OutputShape(input, keepdim)}};
}

void Prod(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("prod", InferProd(input, dim, keepdim), {&output}, input);
  const Place place = PlaceOf("prod", input);
  if (output.numel() == 0) return;
  const ReducedDims dims({"prod", "dim"}, input, dim);
  // Reduced dimensions side by side stay where they are; else they come last.
  int first = 0, last = input.rank();
  while (first < last && !dims.reduced[first]) ++first;
  while (last > first && !dims.reduced[last - 1]) --last;
  bool side_by_side = true;
  for (int i = first; i < last; ++i) side_by_side = side_by_side && dims.reduced[i];
  int64_t outer = 1, inner = 1;
  TensorView x = input;
  if (side_by_side) {
    for (int i = 0; i < first; ++i) outer *= input.shape[i];
    for (int i = last; i < input.rank(); ++i) inner *= input.shape[i];
  } else {
    IntList order_of_dims;
    for (const bool reduced : {false, true}) {
      for (int i = 0; i < input.rank(); ++i) {
        if (dims.reduced[i] == reduced) order_of_dims.Append(i);
      }
    }
    x = Permuted(input, order_of_dims);
    outer = output.numel();
  }
  OpScratch scratch(place);
  x = Contiguous(x, scratch);
  double* const chunks = scratch.Get<double>(outer * inner * Chunks(dims.count, kSumChunk).count);
  DispatchReal(input.dtype, [&]<class T>() {
    ProdKernel(place, ProdArgs<T>{outer, dims.count, inner, x.Data<const T>(), chunks, output.Data<T>()});
  });
}

}  // namespace repdl

REPDL_OPS(prod, MakeOp<InferProd, Prod, ProdKernel>("prod", "input, dim=None, keepdim=False", kFloat32Or64))
