// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/sum_cuda.h"
#include "ops/sum/sum_kernel.h"

namespace repdl::scalar {

#include "ops/sum/sum.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
struct TermsOfTensor {
  const T* x;
  scalar::DeviceLoops kept, reduced;

  REPDL_ROW scalar::ScatteredNumbers<T> operator()(int64_t sum) const { return {x + kept.Offset(sum), &reduced}; }
};

template <class T>
static void SumTensor(const Place& place, const ReduceArgs& args) {
  const int64_t num_sums = args.kept.Count(), n = args.reduced.Count();
  const scalar::DeviceLoops kept(args.kept), reduced(args.reduced);
  const auto sum = [&](const auto& terms) {
    if (AreSideBySide(args.kept, args.reduced.InnerStride())) {
      SumsSideBySide(place, num_sums, n, args.order, terms, args.end, args.Out<T>());
    } else {
      Sums(place, num_sums, n, args.order, terms, args.end, args.Out<T>());
    }
  };
  if (reduced.rank <= 1) {
    sum(scalar::StridedRows<const T>{args.X<T>(), kept, args.reduced.InnerStride()});
  } else {
    sum(TermsOfTensor<T>{args.X<T>(), kept, reduced});
  }
}

REPDL_CUDA_KERNEL(SumKernel, ReduceArgs) {
  DispatchReal(args.dtype, [&]<class T>() { SumTensor<T>(place, args); });
}

template <class T>
struct Squares {
  const T* x;

  REPDL_ROW T operator()(scalar::RowPlace at) const { return scalar::SquareOf(x[at.index]); }
};

template <class T>
static void RunNorm(const Place& place, const NormArgs<T>& args) {
  Sums(place, 1, args.n, args.order, OneSum<Squares<T>>{{args.x}}, {.root = true}, args.output);
}

REPDL_CUDA_KERNEL(NormKernel, NormArgs<float>) { RunNorm(place, args); }
REPDL_CUDA_KERNEL(NormKernel, NormArgs<double>) { RunNorm(place, args); }

struct SquaredDistanceLane {
  DType output_dtype = DType::kFloat64;

  REPDL_ROW float operator()(float x, float centre) const { return scalar::SquaredDistance(x, centre); }
  REPDL_ROW double operator()(scalar::Tag<double>, double x, double centre) const {
    return scalar::SquaredDistance(x, centre);
  }
};

REPDL_CUDA_KERNEL(SquaredDistanceKernel, MapArgs) {
  if (args.output_dtype == DType::kFloat64) return MapDouble<2, SquaredDistanceLane>(place, args);
  Map<2, SquaredDistanceLane>(place, args);
}

}  // namespace repdl::cuda
