// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "drivers/segment_cuda.h"
#include "ops/index_add/index_add_kernel.h"

namespace repdl::cuda {

/// The rows that terms go to.
template <class T>
struct RowsOfTerms {
  IndexSumArgs<T> args;

  __device__ __forceinline__ int64_t operator()(int64_t t) const {
    return args.to[t] == args.left_out ? -1 : CheckedIndex(args.to[t], args.rows);
  }
};

template <class T, class Key>
struct IndexSumCall {
  IndexSumArgs<T> args;
  SortedTerms<Key> terms;
};

/// A number of a row by each thread that meets the first of the row's terms.
template <class T, class Key>
__global__ void __launch_bounds__(kThreadsPerBlock) RowSumsKernel(const __grid_constant__ IndexSumCall<T, Key> call) {
  const IndexSumArgs<T>& args = call.args;
  const int64_t count = args.outer * args.terms * args.width, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t slice = i;
    const int64_t column = scalar::TakeRemainder(slice, args.width), at = scalar::TakeRemainder(slice, args.terms);
    if (!call.terms.Begins(at)) continue;
    const T* const source = args.source + slice * args.source_rows * args.width + column;
    T& sum = args.output[(slice * args.rows + call.terms.PlaceOf(at)) * args.width + column];
    sum = call.terms.AddTo(sum, at, [&](int64_t t) {
      const int64_t row = args.from == nullptr ? t : CheckedIndex(args.from[t], args.source_rows);
      T term = source[row * args.width];
      if (args.factors != nullptr) term = scalar::Mul(term, args.factors[t * args.factor_stride]);
      if (args.divisors != nullptr) term = scalar::Div(term, args.divisors[t]);
      return term;
    });
  }
}

template <class T>
static void Run(const Place& place, const IndexSumArgs<T>& args) {
  WithSortedTerms(place, args.terms, args.rows, RowsOfTerms<T>{args}, [&]<class Key>(const SortedTerms<Key>& terms) {
    Launch(place, args.outer * args.terms * args.width, &RowSumsKernel<T, Key>, IndexSumCall<T, Key>{args, terms});
  });
}

/// The numbers of the output that those of the source go to.
template <class T>
struct NumbersOfTerms {
  ScatterAddArgs<T> args;

  __device__ __forceinline__ int64_t operator()(int64_t t) const {
    const int64_t index = args.index[t];
    const int64_t column = scalar::TakeRemainder(t, args.inner), term = scalar::TakeRemainder(t, args.terms);
    if (args.kept != nullptr && args.kept[term] == 0) return -1;
    return (t * args.rows + CheckedIndex(index, args.rows)) * args.inner + column;
  }
};

template <class T>
static void Run(const Place& place, const ScatterAddArgs<T>& args) {
  const int64_t count = args.outer * args.terms * args.inner, places = args.outer * args.rows * args.inner;
  if (count == 0) return;
  IndexSumArgs<T> sums{};
  sums.outer = sums.width = 1, sums.terms = sums.source_rows = count, sums.rows = places;
  sums.source = args.source, sums.output = args.output;
  WithSortedTerms(place, count, places, NumbersOfTerms<T>{args}, [&]<class Key>(const SortedTerms<Key>& terms) {
    Launch(place, count, &RowSumsKernel<T, Key>, IndexSumCall<T, Key>{sums, terms});
  });
}

REPDL_CUDA_KERNEL(IndexSumKernel, IndexSumArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(IndexSumKernel, IndexSumArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(ScatterAddKernel, ScatterAddArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(ScatterAddKernel, ScatterAddArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
