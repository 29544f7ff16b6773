// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "ops/cross/cross_kernel.h"

namespace repdl::scalar {

#include "ops/cross/cross.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// A vector by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) CrossOfEach(const __grid_constant__ CrossArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.outer * args.inner; i += num_threads) {
    int64_t row = i;
    const int64_t column = scalar::TakeRemainder(row, args.inner);
    const int64_t first = row * 3 * args.inner + column, second = first + args.inner, third = second + args.inner;
    scalar::CrossOf(args.a[first], args.a[second], args.a[third], args.b[first], args.b[second], args.b[third],
                    args.output[first], args.output[second], args.output[third]);
  }
}

template <class T>
static void Run(const Place& place, const CrossArgs<T>& args) {
  Launch(place, args.outer * args.inner, &CrossOfEach<T>, args);
}

REPDL_CUDA_KERNEL(CrossKernel, CrossArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(CrossKernel, CrossArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
