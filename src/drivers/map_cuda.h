// SPDX-License-Identifier: MIT
// Elementwise ops on CUDA: f(x...) of one element at a time.
#pragma once

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"

namespace repdl::cuda {

/// A map by a text that has its numbers within.
template <class F>
struct TextArgs {
  MapArgs map;
  F f;
  scalar::MapFours fours;
};

template <int kInputs, class T, class F>
__global__ void __launch_bounds__(kThreadsPerBlock) MapTextKernel(const __grid_constant__ TextArgs<F> args) {
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto f = [&](auto... x) { return args.f(scalar::Tag<T>(), x...); };
  scalar::MapThread<kInputs, T>(args.map, args.fours, thread, int64_t{gridDim.x} * blockDim.x, f);
}

/// output = f(tag, inputs...).
template <int kInputs, class T, class F>
void MapText(const Place& place, const MapArgs& args, const F& f) {
  const scalar::MapFours fours(args);
  Launch(place, fours.NumThreads(args), &MapTextKernel<kInputs, T, F>, {args, f, fours});
}

/// output = F()(tag, inputs...), of doubles.
template <int kInputs, class F>
void MapDouble(const Place& place, const MapArgs& args) {
  MapText<kInputs, double>(place, args, F());
}

/// A function that is told the dtype of the output.
template <class F>
struct OfDType {
  F f;

  template <class... X>
  REPDL_LANE float operator()(scalar::Tag<float>, X... x) const {
    return f(x...);
  }
};

/// output = F{dtype of the output}(inputs...).
template <int kInputs, class F>
void Map(const Place& place, const MapArgs& args) {
  MapText<kInputs, float>(place, args, OfDType<F>{F{args.output_dtype}});
}

/// body(at, numbers) with those of the operands at each element of the output, by the threads of a grid.
template <int kInputs, class T, class Body>
__device__ __forceinline__ void ForEachNumber(const MapArgs& args, const Body& body) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.numel; at += num_threads) {
    int64_t offsets[kInputs];
    scalar::MapOffsets<kInputs>(args, at, offsets);
    T numbers[kInputs];
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
      numbers[t] = scalar::LoadNumber<T>(args.inputs[t], args.input_dtypes[t], offsets[t]);
    }
    body(at, numbers);
  }
}

}  // namespace repdl::cuda
