// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "drivers/segment_cuda.h"
#include "ops/roi_pool/roi_pool_bins.h"

namespace repdl::scalar {

#include "ops/max_pool/max_pool.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// A box by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) FindBinsKernel(const __grid_constant__ RoiPoolArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t r = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; r < args.count; r += num_threads) {
    FindBinsOfBox(args, r);
  }
}

/// A bin of a channel by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) PoolBinsKernel(const __grid_constant__ RoiPoolArgs<T> args) {
  const int64_t count = args.count * args.channels * args.rows * args.columns;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t r = at;
    const int64_t j = scalar::TakeRemainder(r, args.columns), i = scalar::TakeRemainder(r, args.rows);
    const int64_t c = scalar::TakeRemainder(r, args.channels), image = CheckedIndex(args.images[r], args.batch);
    const T* const from = args.input + (image * args.channels + c) * args.height * args.width;
    const int64_t left = args.x_begins[r * args.columns + j], right = args.x_ends[r * args.columns + j];
    T largest = scalar::Neg(scalar::Inf(scalar::Tag<T>()));
    int64_t place = -1;
    for (int64_t y = args.y_begins[r * args.rows + i]; y < args.y_ends[r * args.rows + i]; ++y) {
      for (int64_t x = left; x < right; ++x) {
        const int64_t number = y * args.width + x;
        if (place < 0) place = number;
        scalar::TakeLarger(from[number], number, largest, place);
      }
    }
    args.output[at] = place < 0 ? T{0} : largest;
    args.places[at] = place;
  }
}

template <class T>
static void Run(const Place& place, const RoiPoolArgs<T>& args) {
  Launch(place, args.count, &FindBinsKernel<T>, args);
  Launch(place, args.count * args.channels * args.rows * args.columns, &PoolBinsKernel<T>, args);
}

/// The elements of the images that bins chose; -1 for none.
template <class T>
struct ElementsOfBins {
  RoiPoolGradArgs<T> args;

  __device__ __forceinline__ int64_t operator()(int64_t bin) const {
    const int64_t at = args.places[bin];
    if (at == -1) return -1;
    scalar::TakeRemainder(bin, args.bins);
    const int64_t channel = scalar::TakeRemainder(bin, args.channels),
                  image = CheckedIndex(args.images[bin], args.batch);
    return (image * args.channels + channel) * args.size + CheckedIndex(at, args.size);
  }
};

template <class T, class Key>
struct SpreadCall {
  const T* grad_output;
  T* grad_input;
  SortedTerms<Key> bins;
};

template <class T, class Key>
__global__ void __launch_bounds__(kThreadsPerBlock) SpreadKernel(const __grid_constant__ SpreadCall<T, Key> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.bins.count; i += num_threads) {
    if (!call.bins.Begins(i)) continue;
    call.grad_input[call.bins.PlaceOf(i)] =
        call.bins.AddTo(T{0}, i, [&](int64_t bin) { return call.grad_output[bin]; });
  }
}

template <class T>
static void Run(const Place& place, const RoiPoolGradArgs<T>& args) {
  const int64_t count = args.count * args.channels * args.bins, places = args.batch * args.channels * args.size;
  WithSortedTerms(place, count, places, ElementsOfBins<T>{args}, [&]<class Key>(const SortedTerms<Key>& bins) {
    Launch(place, count, &SpreadKernel<T, Key>, SpreadCall<T, Key>{args.grad_output, args.grad_input, bins});
  });
}

REPDL_CUDA_KERNEL(RoiPoolKernel, RoiPoolArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(RoiPoolKernel, RoiPoolArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(RoiPoolGradKernel, RoiPoolGradArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(RoiPoolGradKernel, RoiPoolGradArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
