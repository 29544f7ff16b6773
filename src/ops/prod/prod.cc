// SPDX-License-Identifier: MIT
#include "repdl/ops/prod.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "base/pairs.h"
#include "drivers/contiguous.h"
#include "drivers/reduced_dims.h"
#include "numerics/order.h"
#include "ops/prod/prod_kernel.h"

namespace repdl {
namespace {

/// The products of an operand as lines along the second dimension of (outer, n, inner, …).
struct Lines {
  int64_t outer = 1, inner = 1;
  TensorView x;
};

/// Of the first `rank` dimensions. Reduced dimensions side by side stay where they are; else they come last.
Lines MakeLines(const TensorView& input, int rank, const bool (&reduced)[kMaxRank], OpScratch& scratch) {
  int first = 0, last = rank;
  while (first < last && !reduced[first]) ++first;
  while (last > first && !reduced[last - 1]) --last;
  bool side_by_side = true;
  for (int i = first; i < last; ++i) side_by_side = side_by_side && reduced[i];
  Lines lines{.x = input};
  if (side_by_side) {
    for (int i = 0; i < first; ++i) lines.outer *= input.shape[i];
    for (int i = last; i < rank; ++i) lines.inner *= input.shape[i];
  } else {
    IntList order_of_dims;
    for (const bool is_reduced : {false, true}) {
      for (int i = 0; i < rank; ++i) {
        if (reduced[i] == is_reduced) order_of_dims.Append(i);
      }
    }
    for (int i = 0; i < rank; ++i) lines.outer *= reduced[i] ? 1 : input.shape[i];
    for (int i = rank; i < input.rank(); ++i) order_of_dims.Append(i);
    lines.x = Permuted(input, order_of_dims);
  }
  lines.x = Contiguous(lines.x, scratch);
  return lines;
}

}  // namespace

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
  OpScratch scratch(place);
  const Lines lines = MakeLines(input, input.rank(), dims.reduced, scratch);
  double* const chunks = scratch.Get<double>(lines.outer * lines.inner * Chunks(dims.count, kSumChunk).count);
  DispatchReal(input.dtype, [&]<class T>() {
    ProdKernel(place,
               ProdArgs<T>{lines.outer, dims.count, lines.inner, lines.x.Data<const T>(), chunks, output.Data<T>()});
  });
}

Specs InferComplexProd(const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  CheckPairs({"complex_prod", "input"}, input, input);
  const TensorView numbers = PartsOf(input, 0);
  IntList shape = ReducedDims({"complex_prod", "dim"}, numbers, dim).OutputShape(numbers, keepdim);
  shape.Append(2);
  return {{input.dtype, shape}};
}

void ComplexProd(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("complex_prod", InferComplexProd(input, dim, keepdim), {&output}, input);
  const Place place = PlaceOf("complex_prod", input);
  if (output.numel() == 0) return;
  const ReducedDims dims({"complex_prod", "dim"}, PartsOf(input, 0), dim);
  OpScratch scratch(place);
  const Lines lines = MakeLines(input, input.rank() - 1, dims.reduced, scratch);
  double* const chunks = scratch.Get<double>(2 * lines.outer * lines.inner * Chunks(dims.count, kSumChunk).count);
  DispatchReal(input.dtype, [&]<class T>() {
    ComplexProdKernel(
        place, ProdArgs<T>{lines.outer, dims.count, lines.inner, lines.x.Data<const T>(), chunks, output.Data<T>()});
  });
}

}  // namespace repdl

REPDL_OPS(prod, MakeOp<InferProd, Prod, ProdKernel>("prod", "input, dim=None, keepdim=False", kFloat32Or64),
          MakeOp<InferComplexProd, ComplexProd, ComplexProdKernel>("complex_prod", "input, dim=None, keepdim=False",
                                                                   kFloat32Or64))
