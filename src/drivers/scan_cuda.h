// SPDX-License-Identifier: MIT
// Running sums of integers on CUDA.
#pragma once

#include "base/cuda_launch.h"

namespace repdl::cuda {

/// The sum of the values of the threads of a block up to this one. `sums`, of a place for each thread, has them all
/// afterwards, until the next call.
__device__ __forceinline__ int64_t SumUpToThread(int64_t value, int64_t* sums) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int step = 1; step < threads; step *= 2) {
    __syncthreads();  // the sums of the step before have been read
    sums[thread] = value;
    __syncthreads();
    if (thread >= step) value += sums[thread - step];
  }
  sums[thread] = value;  // in the last step only those were read that it has not changed
  __syncthreads();
  return value;
}

}  // namespace repdl::cuda
