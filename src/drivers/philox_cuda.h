// SPDX-License-Identifier: MIT
// Fills tensors from the words of Philox4x32-10, on CUDA: a block of words by each thread.
#pragma once

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "drivers/philox.h"

namespace repdl::scalar {

#include "numerics/parts/philox.lane.h"

/// Words of a block, in the low halves.
struct PhiloxBlock {
  int64_t words[4];

  REPDL_LANE PhiloxBlock(const PhiloxStream& stream, uint64_t block) {
    const Tag<int64_t> d;
    words[0] = static_cast<int64_t>(block), words[1] = ShiftRightLogical<32>(words[0]);
    words[2] = static_cast<int64_t>(stream.call), words[3] = ShiftRightLogical<32>(words[2]);
    PhiloxRounds(d, stream.keys, words[0], words[1], words[2], words[3]);
  }
  REPDL_LANE int32_t operator[](int i) const { return static_cast<int32_t>(words[i]); }
};

}  // namespace repdl::scalar

namespace repdl::cuda {

/// What makes elements of blocks: put(block, map, element of the block, offset of the element).
template <class Put>
struct PhiloxFill {
  PhiloxArgs philox;
  Put put;
};

/// Elements that take kWords words each, 1 or 2.
template <int kWords, class Put>
__global__ void __launch_bounds__(kThreadsPerBlock) PhiloxFillKernel(const __grid_constant__ PhiloxFill<Put> args) {
  constexpr uint64_t kElements = 4 / kWords;
  const PhiloxStream& stream = args.philox.stream;
  const MapArgs& map = args.philox.map;
  const auto count = static_cast<uint64_t>(map.numel), num_threads = uint64_t{gridDim.x} * blockDim.x;
  const uint64_t last = (stream.offset + count - 1) / kElements;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;; i += num_threads) {
    const uint64_t number = stream.offset / kElements + i;
    if (number > last) break;
    const scalar::PhiloxBlock block(stream, number);
    const auto made = args.put.Make(block);
#pragma unroll
    for (int j = 0; j < static_cast<int>(kElements); ++j) {
      // The first block may begin before the tensor, and the last end behind it.
      const uint64_t at = number * kElements + static_cast<uint64_t>(j) - stream.offset;
      if (at >= count) continue;
      int64_t offset[1];
      scalar::MapOffsets<1>(map, static_cast<int64_t>(at), offset);
      args.put.Store(made, j, map, offset[0]);
    }
  }
}

template <int kWords, class Put>
void FillPhilox(const Place& place, const PhiloxArgs& args, const Put& put) {
  const int64_t blocks = args.map.numel / (4 / kWords) + 2;
  Launch(place, blocks, &PhiloxFillKernel<kWords, Put>, PhiloxFill<Put>{args, put});
}

/// Numbers that a text makes of the words of a block.
template <class Text>
struct PutFloats {
  Text text;

  struct Made {
    float values[4];
  };
  __device__ __forceinline__ Made Make(const scalar::PhiloxBlock& block) const {
    Made made;
    text(block[0], block[1], block[2], block[3], made.values[0], made.values[1], made.values[2], made.values[3]);
    return made;
  }
  __device__ __forceinline__ void Store(const Made& made, int j, const MapArgs& map, int64_t offset) const {
    scalar::StoreNumber(map.output, map.output_dtype, offset, made.values[j]);
  }
};

/// Element i is what a text makes of word i, or of a pair of words, rounded to the type of the tensor.
template <class Text>
void FillFloats(const Place& place, const PhiloxArgs& args, const Text& text) {
  FillPhilox<1>(place, args, PutFloats<Text>{text});
}

}  // namespace repdl::cuda
