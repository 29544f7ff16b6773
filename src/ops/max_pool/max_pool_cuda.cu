// SPDX-License-Identifier: MIT
#include "drivers/contiguous.h"
#include "drivers/row_cuda.h"
#include "drivers/segment_cuda.h"
#include "ops/max_pool/max_pool_kernel.h"

namespace repdl::scalar {

#include "ops/max_pool/max_pool.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
struct PoolCall {
  int64_t planes, inner;
  PoolWindows deep, high, wide;
  const T* input;
  T* output;
  int64_t* indices;

  int64_t Count() const { return planes * deep.windows * high.windows * wide.windows * inner; }
};

/// A window by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) MaxPoolWindowsKernel(const __grid_constant__ PoolCall<T> call) {
  const auto& [planes, inner, deep, high, wide, input, output, indices] = call;
  const int64_t count = planes * deep.windows * high.windows * wide.windows * inner;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t plane = i;
    const int64_t c = scalar::TakeRemainder(plane, inner), q = scalar::TakeRemainder(plane, wide.windows);
    const int64_t p = scalar::TakeRemainder(plane, high.windows), k = scalar::TakeRemainder(plane, deep.windows);
    const T* const from = input + plane * deep.size * high.size * wide.size * inner + c;
    T largest = scalar::Neg(scalar::Inf(scalar::Tag<T>()));
    int64_t place = -1;  // of a window without any place
    for (int64_t d = 0; d < deep.count[k]; ++d) {
      for (int64_t h = 0; h < high.count[p]; ++h) {
        const int64_t row = (deep.first[k] + d * deep.step) * high.size + high.first[p] + h * high.step;
        const int64_t begin = row * wide.size + wide.first[q];
        for (int64_t w = 0; w < wide.count[q]; ++w) {
          const int64_t at = begin + w * wide.step;
          if (place < 0) place = at;
          scalar::TakeLarger(from[at * inner], at, largest, place);
        }
      }
    }
    output[i] = largest;
    indices[i] = place;
  }
}

template <class T>
static void Run(const Place& place, const MaxPoolArgs<T>& args) {
  const PoolCall<T> call{args.planes,  args.inner, args.axes[0], args.axes[1],
                         args.axes[2], args.input, args.output,  args.indices};
  Launch(place, call.Count(), &MaxPoolWindowsKernel<T>, call);
}

REPDL_CUDA_KERNEL(MaxPoolKernel, MaxPoolArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(MaxPoolKernel, MaxPoolArgs<double>) { Run(place, args); }

/// The numbers of the output that those of the input go to. A place of -1 may stand for none.
template <class T>
struct PlacesOfElements {
  UnpoolArgs<T> args;
  bool may_lack;

  __device__ __forceinline__ int64_t operator()(int64_t element) const {
    const int64_t at = args.indices[element];
    if (may_lack && at == -1) return -1;
    const int64_t inner = scalar::TakeRemainder(element, args.inner);
    scalar::TakeRemainder(element, args.windows);
    return (element * args.places + CheckedIndex(at, args.places)) * args.inner + inner;
  }
};

template <class T, class Key>
struct UnpoolCall {
  const T* input;
  T* output;
  SortedTerms<Key> elements;
};

template <class T, class Key>
__global__ void __launch_bounds__(kThreadsPerBlock) AddToPlacesKernel(const __grid_constant__ UnpoolCall<T, Key> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.elements.count; i += num_threads) {
    if (!call.elements.Begins(i)) continue;
    call.output[call.elements.PlaceOf(i)] =
        call.elements.AddTo(T{0}, i, [&](int64_t element) { return call.input[element]; });
  }
}

/// The last element of a place stays.
template <class T, class Key>
__global__ void __launch_bounds__(kThreadsPerBlock)
    PutIntoPlacesKernel(const __grid_constant__ UnpoolCall<T, Key> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.elements.count; i += num_threads) {
    if (call.elements.Ends(i)) call.output[call.elements.PlaceOf(i)] = call.input[call.elements.TermOf(i)];
  }
}

template <class T>
static void Unpool(const Place& place, const UnpoolArgs<T>& args, bool adds) {
  const int64_t count = args.planes * args.windows * args.inner, places = args.planes * args.places * args.inner;
  FillWith(place, args.output, places, T{0});
  if (count == 0) return;
  const PlacesOfElements<T> places_of{args, /*may_lack=*/adds};
  WithSortedTerms(place, count, places, places_of, [&]<class Key>(const SortedTerms<Key>& elements) {
    const UnpoolCall<T, Key> call{args.input, args.output, elements};
    Launch(place, count, adds ? &AddToPlacesKernel<T, Key> : &PutIntoPlacesKernel<T, Key>, call);
  });
}

REPDL_CUDA_KERNEL(MaxPoolGradKernel, UnpoolArgs<float>) { Unpool(place, args, /*adds=*/true); }
REPDL_CUDA_KERNEL(MaxPoolGradKernel, UnpoolArgs<double>) { Unpool(place, args, /*adds=*/true); }
REPDL_CUDA_KERNEL(MaxUnpoolKernel, UnpoolArgs<float>) { Unpool(place, args, /*adds=*/false); }
REPDL_CUDA_KERNEL(MaxUnpoolKernel, UnpoolArgs<double>) { Unpool(place, args, /*adds=*/false); }

}  // namespace repdl::cuda
