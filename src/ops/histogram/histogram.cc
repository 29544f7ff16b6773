// SPDX-License-Identifier: MIT
#include "repdl/ops/histogram.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/histogram/histogram_kernel.h"
#include "ops/index_add/index_add_kernel.h"

namespace repdl {

Specs InferHistogram(const TensorView& input, const TensorView& bins, const std::optional<TensorView>& weight) {
  CheckFloat({"histogram", "input"}, input, input);
  const ArgName name{"histogram", "bins"};
  CheckFloat(name, bins, input);
  CheckRank(name, bins, 1, 1, "(m)");
  REPDL_CHECK(bins.shape[0] > 0, name, " must have at least one edge");
  CheckFloat({"histogram", "weight"}, weight, input.shape, input);
  return {{input.dtype, {bins.shape[0] - 1}}};
}

void Histogram(const TensorView& input, const TensorView& bins, const std::optional<TensorView>& weight, Out hist) {
  const FpEnvGuard guard;
  CheckOutputs("histogram", InferHistogram(input, bins, weight), {&hist}, input);
  const Place place = PlaceOf("histogram", input);
  if (hist.numel() == 0) return;
  FillWithZero(place, hist);
  const int64_t n = input.numel();
  if (n == 0) return;
  OpScratch scratch(place);
  const TensorView x = Contiguous(input, scratch), edges = Contiguous(bins, scratch);
  DispatchReal(input.dtype, [&]<class T>() {
    HistogramArgs<T> args{n, bins.shape[0], x.Data<const T>(), edges.Data<const T>(), nullptr, nullptr};
    if (!weight) {
      args.counts = hist.Data<T>();
      return HistogramKernel(place, args);
    }
    args.places = scratch.Get<int64_t>(n);
    HistogramKernel(place, args);
    IndexSumKernel(place,
                   IndexSumArgs<T>{{1, n, 1, args.places, -1, nullptr, Contiguous(*weight, scratch).Data<const T>(), n,
                                    hist.Data<T>(), hist.numel()},
                                   nullptr,
                                   0,
                                   nullptr});
  });
}

}  // namespace repdl

REPDL_OPS(histogram,
          MakeOp<InferHistogram, Histogram, HistogramKernel, IndexSumKernel>("histogram", "input, bins, weight=None",
                                                                             kFloat32Or64))
