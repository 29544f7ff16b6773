// SPDX-License-Identifier: MIT
// What one thread of the CUDA map does, in plain C++, so that tests can run it on the host.
#pragma once

#include "drivers/map.h"
#include "numerics/lanes/scalar.h"

namespace repdl::scalar {

/// Divides `rest` by `size` and returns the remainder. GPUs divide 64 bits slowly, and most sizes have 32.
REPDL_LANE int64_t TakeRemainder(int64_t& rest, int64_t size) {
  if (((rest | size) >> 32) == 0) {
    const auto dividend = static_cast<uint32_t>(rest), divisor = static_cast<uint32_t>(size);
    rest = dividend / divisor;
    return dividend % divisor;
  }
  const int64_t remainder = rest % size;
  rest /= size;
  return remainder;
}

/// Where the operands of element `at` of the output lie.
template <int kInputs>
REPDL_LANE void MapOffsets(const MapArgs& args, int64_t at, int64_t (&offsets)[kInputs]) {
  for (int t = 0; t < kInputs; ++t) offsets[t] = 0;
  for (int dim = args.rank - 1; dim >= 0; --dim) {
    // What is left for the outermost dimension is its index.
    const int64_t index = dim == 0 ? at : TakeRemainder(at, args.shape[dim]);
    for (int t = 0; t < kInputs; ++t) offsets[t] += index * args.strides[t][dim];
  }
}

/// Element `at`, widened to a float; or a double as it is.
template <class T>
REPDL_LANE T LoadNumber(const void* data, DType dtype, int64_t at) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<const double*>(data)[at];
  } else {
    if (dtype == DType::kFloat32) return static_cast<const float*>(data)[at];
    const int32_t bits = static_cast<const uint16_t*>(data)[at];
    return dtype == DType::kBFloat16 ? WidenBFloat16(bits) : WidenFloat16(bits);
  }
}

/// Element `at`, rounded from a float; or a double as it is.
REPDL_LANE void StoreNumber(void* data, DType, int64_t at, double value) { static_cast<double*>(data)[at] = value; }
REPDL_LANE void StoreNumber(void* data, DType dtype, int64_t at, float value) {
  if (dtype == DType::kFloat32) {
    static_cast<float*>(data)[at] = value;
  } else {
    const int32_t bits = dtype == DType::kBFloat16 ? NarrowBFloat16(value) : NarrowFloat16(value);
    static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(bits);
  }
}

/// Thread `thread` of `num_threads` computes the elements thread, thread + num_threads, and so on, as f(T...).
template <int kInputs, class T = float, class F>
REPDL_LANE void MapThread(const MapArgs& args, int64_t thread, int64_t num_threads, const F& f) {
  for (int64_t at = thread; at < args.numel; at += num_threads) {
    int64_t offsets[kInputs];
    MapOffsets<kInputs>(args, at, offsets);
    const auto load = [&](int t) { return LoadNumber<T>(args.inputs[t], args.input_dtypes[t], offsets[t]); };
    if constexpr (kInputs == 1) {
      StoreNumber(args.output, args.output_dtype, at, f(load(0)));
    } else if constexpr (kInputs == 2) {
      StoreNumber(args.output, args.output_dtype, at, f(load(0), load(1)));
    } else if constexpr (kInputs == 3) {
      StoreNumber(args.output, args.output_dtype, at, f(load(0), load(1), load(2)));
    } else {
      static_assert(kInputs == 4);
      StoreNumber(args.output, args.output_dtype, at, f(load(0), load(1), load(2), load(3)));
    }
  }
}

}  // namespace repdl::scalar
