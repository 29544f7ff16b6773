// SPDX-License-Identifier: MIT
#include "repdl/ops/index_add.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/index_add/index_add_kernel.h"

namespace repdl {

Specs InferIndexAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source,
                    double /*alpha*/) {
  return InferSliceTerms("index_add", input, dim, index, source);
}

void IndexAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source, double alpha,
              Out output) {
  const FpEnvGuard guard;
  CheckOutputs("index_add", InferIndexAdd(input, dim, index, source, alpha), {&output}, input);
  const Place place = PlaceOf("index_add", input);
  OpScratch scratch(place);
  const TermsAlongDim terms = SliceTerms("index_add", input, dim, index, source, scratch);
  if (input.data != output.data) CopyElements(place, input, output);
  if (terms.AreNone()) return;
  DispatchReal(input.dtype, [&]<class T>() {
    const T factor = static_cast<T>(alpha);
    const T* const factors = factor == T{1} ? nullptr : OnPlace(&factor, 1, scratch);
    IndexSumKernel(place, IndexSumArgs<T>{terms.Rows<T>(output), factors, 0, nullptr});
  });
}

Specs InferScatterAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src) {
  return InferElementTerms("scatter_add", input, dim, index, src);
}

void ScatterAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("scatter_add", InferScatterAdd(input, dim, index, src), {&output}, input);
  const Place place = PlaceOf("scatter_add", input);
  OpScratch scratch(place);
  const TermsAlongDim terms = ElementTerms("scatter_add", input, dim, index, src, scratch);
  if (input.data != output.data) CopyElements(place, input, output);
  if (terms.AreNone()) return;
  DispatchReal(input.dtype, [&]<class T>() {
    if (terms.are_rows) return IndexSumKernel(place, IndexSumArgs<T>{terms.Rows<T>(output), nullptr, 0, nullptr});
    ScatterAddKernel(place, terms.Numbers<T>(output));
  });
}

}  // namespace repdl

REPDL_OPS(index_add,
          MakeOp<InferIndexAdd, IndexAdd, IndexSumKernel>("index_add", "input, dim, index, source, alpha=1.0",
                                                          kFloat32Or64),
          MakeOp<InferScatterAdd, ScatterAdd, IndexSumKernel, ScatterAddKernel>("scatter_add", "input, dim, index, src",
                                                                                kFloat32Or64))
