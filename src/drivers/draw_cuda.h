// SPDX-License-Identifier: MIT
// Elements drawn by parameters of their own on CUDA, a thread for each.
#pragma once

#include "drivers/draw.h"
#include "drivers/philox_cuda.h"

namespace repdl::scalar {

#include "numerics/parts/unit53.lane.h"

/// Element `at` of operand t, converted to T.
template <class T>
REPDL_LANE T LoadParameter(const MapArgs& map, int t, int64_t at) {
  if (map.input_dtypes[t] == DType::kFloat64) return static_cast<T>(static_cast<const double*>(map.inputs[t])[at]);
  return LoadNumber<float>(map.inputs[t], map.input_dtypes[t], at);
}

/// Stores an element: float64 as it is, others rounded to float32, then to their type.
template <class T>
REPDL_LANE void StoreDrawn(const MapArgs& map, int64_t at, T value) {
  if (map.output_dtype == DType::kFloat64) {
    StoreNumber(map.output, map.output_dtype, at, static_cast<double>(value));
  } else {
    StoreNumber(map.output, map.output_dtype, at, static_cast<float>(value));
  }
}

/// Two numbers of [0, 1) with 53 bits, by words 0 and 1 and by words 2 and 3 of block 16 number + attempt.
struct UnitPairs {
  const PhiloxStream& stream;
  uint64_t number;

  REPDL_LANE void operator()(int attempt, double& first, double& second) const {
    const PhiloxBlock block(stream, number * kDrawAttempts + static_cast<uint64_t>(attempt));
    first = Unit53Of(Tag<double>(), block.words[0], block.words[1]);
    second = Unit53Of(Tag<double>(), block.words[2], block.words[3]);
  }
};

}  // namespace repdl::scalar

namespace repdl::cuda {

template <int kInputs, class T, class F>
__global__ void __launch_bounds__(kThreadsPerBlock) DrawKernel(const __grid_constant__ DrawArgs args) {
  const MapArgs& map = args.map;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < map.numel; at += num_threads) {
    int64_t offsets[kInputs];
    scalar::MapOffsets<kInputs>(map, at, offsets);
    const uint64_t number = args.stream.offset + static_cast<uint64_t>(at);
    const T first = scalar::LoadParameter<T>(map, 0, offsets[0]);
    if constexpr (kInputs == 1) {
      scalar::StoreDrawn(map, at, F()(args.stream, number, first));
    } else {
      scalar::StoreDrawn(map, at, F()(args.stream, number, first, scalar::LoadParameter<T>(map, 1, offsets[1])));
    }
  }
}

/// output[i] = F()(stream, number of the element in it, inputs[i]...), of numbers T.
template <int kInputs, class T, class F>
void Draw(const Place& place, const DrawArgs& args) {
  Launch(place, args.map.numel, &DrawKernel<kInputs, T, F>, args);
}

}  // namespace repdl::cuda
