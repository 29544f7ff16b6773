// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "numerics/lanes/scalar.h"
#include "ops/adam/adam_kernel.h"

namespace repdl::scalar {

#include "ops/adam/adam.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) AdamStepKernel(const __grid_constant__ AdamArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.n; i += num_threads) {
    T* const largest = args.max_exp_avg_sq == nullptr ? nullptr : args.max_exp_avg_sq + i;
    scalar::AdamElement(scalar::Tag<T>(), args.constants, args.grad[i], args.param[i], args.exp_avg[i],
                        args.exp_avg_sq[i], largest);
  }
}

REPDL_CUDA_KERNEL(AdamKernel, AdamArgs<float>) { Launch(place, args.n, &AdamStepKernel<float>, args); }
REPDL_CUDA_KERNEL(AdamKernel, AdamArgs<double>) { Launch(place, args.n, &AdamStepKernel<double>, args); }

}  // namespace repdl::cuda
