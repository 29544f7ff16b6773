// SPDX-License-Identifier: MIT
// Elementwise ops on CUDA: f(x...) of one element at a time.
#pragma once

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"

namespace repdl::cuda {

template <int kInputs, class F>
__global__ void __launch_bounds__(kThreadsPerBlock) MapKernel(const __grid_constant__ MapArgs args) {
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  scalar::MapThread<kInputs>(args, thread, int64_t{gridDim.x} * blockDim.x, F{args.output_dtype});
}

template <int kInputs, class F>
__global__ void __launch_bounds__(kThreadsPerBlock) MapDoubleKernel(const __grid_constant__ MapArgs args) {
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto f = [](auto... x) { return F()(scalar::Tag<double>(), x...); };
  scalar::MapThread<kInputs, double>(args, thread, int64_t{gridDim.x} * blockDim.x, f);
}

/// output = F()(tag, inputs...), of doubles.
template <int kInputs, class F>
void MapDouble(const Place& place, const MapArgs& args) {
  Launch(place, args.numel, &MapDoubleKernel<kInputs, F>, args);
}

/// output = F{dtype of the output}(inputs...).
template <int kInputs, class F>
void Map(const Place& place, const MapArgs& args) {
  Launch(place, args.numel, &MapKernel<kInputs, F>, args);
}

}  // namespace repdl::cuda
