// SPDX-License-Identifier: MIT
#include <limits>

#include "drivers/index_terms_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/scatter_reduce/scatter_reduce_kernel.h"

namespace repdl::scalar {

#include "ops/scatter_reduce/scatter_reduce.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T, class Terms>
struct IndexReduceCall {
  RowTerms<T> rows;
  Terms terms;
  bool is_mean, include_self;
};

template <class T, class How, class Terms>
__global__ void __launch_bounds__(kThreadsPerBlock)
    ReachedNumbersKernel(const __grid_constant__ IndexReduceCall<T, Terms> call) {
  ForReachedNumbers(call.rows, call.terms, [&](T& result, int64_t first, const auto& x) {
    result = call.terms.Meet(call.include_self ? result : How::kFirst, first, How(), x);
    const int64_t count = call.is_mean ? call.terms.CountAt(first) + (call.include_self ? 1 : 0) : 1;
    if (count > 1) result = scalar::Div(result, static_cast<T>(count));
  });
}

template <class T, class Rows>
static void Run(const Place& place, const ReductionArgs<Rows>& args) {
  WithSortedRows(place, args.terms, [&]<class Terms>(const RowTerms<T>& sorted, const Terms& terms) {
    scalar::WithReduction<T>(args.reduce, [&]<class How>(const How&) {
      Launch(place, sorted.outer * sorted.terms * sorted.width, &ReachedNumbersKernel<T, How, Terms>,
             IndexReduceCall<T, Terms>{sorted, terms, args.reduce == IndexReduction::kMean, args.include_self});
    });
  });
}

REPDL_CUDA_KERNEL(IndexReduceKernel, IndexReduceArgs<float>) { Run<float>(place, args); }
REPDL_CUDA_KERNEL(IndexReduceKernel, IndexReduceArgs<double>) { Run<double>(place, args); }
REPDL_CUDA_KERNEL(ScatterReduceKernel, ScatterReduceArgs<float>) { Run<float>(place, args); }
REPDL_CUDA_KERNEL(ScatterReduceKernel, ScatterReduceArgs<double>) { Run<double>(place, args); }

}  // namespace repdl::cuda
