// SPDX-License-Identifier: MIT
#include "drivers/index_terms_cuda.h"
#include "ops/index_add/index_add_kernel.h"

namespace repdl::scalar {

#include "ops/index_add/index_add.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T, class Terms>
struct IndexSumCall {
  RowTerms<T> rows;
  Terms terms;
  scalar::AddTerm<T, scalar::Factors::kFactorAndDivisor> step;
};

template <class T, class Terms>
__global__ void __launch_bounds__(kThreadsPerBlock) RowSumsKernel(const __grid_constant__ IndexSumCall<T, Terms> call) {
  ForReachedNumbers(call.rows, call.terms, [&](T& sum, int64_t first, const auto& x) {
    sum = call.terms.AddTo(sum, first, [&](int64_t t) { return call.step.Term(x(t), t); });
  });
}

template <class T, class Rows>
static void Run(const Place& place, const Rows& rows, const IndexSumArgs<T>& args) {
  WithSortedRows(place, rows, [&]<class Terms>(const RowTerms<T>& sorted, const Terms& terms) {
    Launch(place, sorted.outer * sorted.terms * sorted.width, &RowSumsKernel<T, Terms>,
           IndexSumCall<T, Terms>{sorted, terms, {args.factors, args.factor_stride, args.divisors}});
  });
}

REPDL_CUDA_KERNEL(IndexSumKernel, IndexSumArgs<float>) { Run(place, args.terms, args); }
REPDL_CUDA_KERNEL(IndexSumKernel, IndexSumArgs<double>) { Run(place, args.terms, args); }
REPDL_CUDA_KERNEL(ScatterAddKernel, NumberTerms<float>) { Run(place, args, IndexSumArgs<float>{}); }
REPDL_CUDA_KERNEL(ScatterAddKernel, NumberTerms<double>) { Run(place, args, IndexSumArgs<double>{}); }

}  // namespace repdl::cuda
