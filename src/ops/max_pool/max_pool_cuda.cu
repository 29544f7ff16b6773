// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "drivers/row_cuda_thread.h"
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

}  // namespace repdl::cuda
