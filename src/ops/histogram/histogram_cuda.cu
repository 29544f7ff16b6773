// SPDX-License-Identifier: MIT
#include "drivers/segment_cuda.h"
#include "ops/histogram/histogram_kernel.h"

namespace repdl::cuda {

/// The bins of elements.
template <class T>
struct BinsOfElements {
  HistogramArgs<T> args;

  __device__ __forceinline__ int64_t operator()(int64_t i) const {
    const T x = args.x[i];
    const int64_t m = args.num_edges;
    if (!(x >= args.edges[0] && x <= args.edges[m - 1])) return -1;
    return BinOf(args.edges, m, x);
  }
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) BinsKernel(const __grid_constant__ BinsOfElements<T> bins) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < bins.args.n; i += num_threads) {
    bins.args.places[i] = bins(i);
  }
}

template <class T, class Key>
struct CountsCall {
  SortedTerms<Key> elements;
  T* counts;
};

template <class T, class Key>
__global__ void __launch_bounds__(kThreadsPerBlock) CountsKernel(const __grid_constant__ CountsCall<T, Key> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.elements.count; i += num_threads) {
    if (call.elements.Begins(i)) call.counts[call.elements.PlaceOf(i)] = static_cast<T>(call.elements.CountAt(i));
  }
}

/// Bins that no element is in are zero as they come.
template <class T>
static void Count(const Place& place, const HistogramArgs<T>& args) {
  const BinsOfElements<T> bins{args};
  if (args.places != nullptr) return Launch(place, args.n, &BinsKernel<T>, bins);
  WithSortedTerms(place, args.n, args.num_edges - 1, bins, [&]<class Key>(const SortedTerms<Key>& elements) {
    Launch(place, args.n, &CountsKernel<T, Key>, CountsCall<T, Key>{elements, args.counts});
  });
}

REPDL_CUDA_KERNEL(HistogramKernel, HistogramArgs<float>) { Count(place, args); }
REPDL_CUDA_KERNEL(HistogramKernel, HistogramArgs<double>) { Count(place, args); }

}  // namespace repdl::cuda
