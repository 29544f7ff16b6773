// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "drivers/segment_cuda.h"
#include "ops/embedding/embedding_kernel.h"

namespace repdl::cuda {

struct RowsOfIndices {
  const int64_t* indices;
  int64_t rows;

  __device__ __forceinline__ int64_t operator()(int64_t i) const { return CheckedIndex(indices[i], rows); }
};

template <class T, class Key>
struct FrequencyCall {
  FrequencyArgs<T> args;
  SortedTerms<Key> terms;
};

template <class T, class Key>
__global__ void __launch_bounds__(kThreadsPerBlock)
    FrequenciesKernel(const __grid_constant__ FrequencyCall<T, Key> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.terms.count; i += num_threads) {
    const auto frequency = static_cast<T>(call.terms.CountAt(i));
    call.args.frequencies[call.terms.TermOf(i)] = call.args.is_inverse ? scalar::Div(T{1}, frequency) : frequency;
  }
}

template <class T>
static void Run(const Place& place, const FrequencyArgs<T>& args) {
  const RowsOfIndices rows{args.indices, args.rows};
  WithSortedTerms(place, args.count, args.rows, rows, [&]<class Key>(const SortedTerms<Key>& terms) {
    Launch(place, args.count, &FrequenciesKernel<T, Key>, FrequencyCall<T, Key>{args, terms});
  });
}

REPDL_CUDA_KERNEL(FrequencyKernel, FrequencyArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(FrequencyKernel, FrequencyArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
