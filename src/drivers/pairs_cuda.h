// SPDX-License-Identifier: MIT
// Elementwise ops of complex numbers, which are pairs, on CUDA: f(real, imaginary...) of one pair at a time.
#pragma once

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"

namespace repdl::cuda {

/// F()(tag, parts of the inputs..., parts of the result), of pairs of T, computed as `Lane` and rounded once where that is
/// not T. Args have a map of pairs, and where the imaginary parts lie.
template <int kInputs, class T, class Lane, class F, class Args>
__global__ void __launch_bounds__(kThreadsPerBlock) MapPairsKernel(const __grid_constant__ Args args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.map.numel; at += num_threads) {
    int64_t offsets[kInputs];
    scalar::MapOffsets<kInputs>(args.map, at, offsets);
    Lane x[kInputs][2], real, imaginary;
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
      const T* const from = static_cast<const T*>(args.map.inputs[t]) + offsets[t];
      x[t][0] = from[0], x[t][1] = from[args.part_strides[t]];
    }
    const scalar::Tag<Lane> d;
    if constexpr (kInputs == 1) {
      F()(d, x[0][0], x[0][1], real, imaginary);
    } else {
      F()(d, x[0][0], x[0][1], x[1][0], x[1][1], real, imaginary);
    }
    T* const to = static_cast<T*>(args.map.output) + 2 * at;
    if constexpr (std::is_same_v<T, Lane>) {
      to[0] = real, to[1] = imaginary;
    } else {
      to[0] = scalar::ToFloat(scalar::Tag<T>(), real), to[1] = scalar::ToFloat(scalar::Tag<T>(), imaginary);
    }
  }
}

/// The same for the type of the output; `Lane` is that in which float32 is computed.
template <int kInputs, class Lane, class F, class Args>
void MapPairs(const Place& place, const Args& args) {
  if (args.map.output_dtype == DType::kFloat64) {
    Launch(place, args.map.numel, &MapPairsKernel<kInputs, double, double, F, Args>, args);
  } else {
    Launch(place, args.map.numel, &MapPairsKernel<kInputs, float, Lane, F, Args>, args);
  }
}

}  // namespace repdl::cuda
