// SPDX-License-Identifier: MIT
#include "repdl/ops/scatter_reduce.h"

#include <algorithm>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/scatter_reduce/scatter_reduce_kernel.h"

namespace repdl {
namespace {

IndexReduction ParseReduction(std::string_view op, std::string_view reduce) {
  constexpr std::string_view kNames[] = {"sum", "mean", "prod", "amax", "amin"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), reduce);
  const bool has_sum = op == "scatter_reduce";
  REPDL_CHECK(
      found != std::end(kNames) && (has_sum || reduce != "sum"), ArgName{op, "reduce"}, " must be ",
      has_sum ? "'sum', 'mean', 'prod', 'amax' or 'amin'" : "'mean', 'prod', 'amax' or 'amin' (index_add has sums)",
      ", got '", reduce, "'");
  return static_cast<IndexReduction>(found - std::begin(kNames));
}

/// The op, given its terms by terms_in(scratch).
template <class Terms>
void Reduce(std::string_view op, const Specs& specs, const TensorView& input, std::string_view reduce,
            bool include_self, Out output, const Terms& terms_in) {
  const FpEnvGuard guard;
  CheckOutputs(op, specs, {&output}, input);
  const Place place = PlaceOf(op, input);
  OpScratch scratch(place);
  const TermsAlongDim terms = terms_in(scratch);
  if (input.data != output.data) CopyElements(place, input, output);
  if (terms.AreNone()) return;
  const IndexReduction how = ParseReduction(op, reduce);
  DispatchReal(input.dtype, [&]<class T>() {
    if (terms.are_rows) return IndexReduceKernel(place, IndexReduceArgs<T>{terms.Rows<T>(output), how, include_self});
    ScatterReduceKernel(place, ScatterReduceArgs<T>{terms.Numbers<T>(output), how, include_self});
  });
}

}  // namespace

Specs InferScatterReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src,
                         std::string_view reduce, bool /*include_self*/) {
  ParseReduction("scatter_reduce", reduce);
  return InferElementTerms("scatter_reduce", input, dim, index, src);
}

void ScatterReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src,
                   std::string_view reduce, bool include_self, Out output) {
  Reduce("scatter_reduce", InferScatterReduce(input, dim, index, src, reduce, include_self), input, reduce,
         include_self, output,
         [&](OpScratch& scratch) { return ElementTerms("scatter_reduce", input, dim, index, src, scratch); });
}

Specs InferIndexReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source,
                       std::string_view reduce, bool /*include_self*/) {
  ParseReduction("index_reduce", reduce);
  return InferSliceTerms("index_reduce", input, dim, index, source);
}

void IndexReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source,
                 std::string_view reduce, bool include_self, Out output) {
  Reduce("index_reduce", InferIndexReduce(input, dim, index, source, reduce, include_self), input, reduce, include_self,
         output, [&](OpScratch& scratch) { return SliceTerms("index_reduce", input, dim, index, source, scratch); });
}

}  // namespace repdl

REPDL_OPS(scatter_reduce,
          MakeOp<InferScatterReduce, ScatterReduce, IndexReduceKernel, ScatterReduceKernel>(
              "scatter_reduce", "input, dim, index, src, reduce, include_self=True", kFloat32Or64),
          MakeOp<InferIndexReduce, IndexReduce, IndexReduceKernel>(
              "index_reduce", "input, dim, index, source, reduce, include_self=True", kFloat32Or64))
