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

/// A number of 16 bits as a float.
REPDL_LANE float Widened(uint16_t number, DType dtype) {
  const int32_t bits = number;
  return dtype == DType::kBFloat16 ? WidenBFloat16(bits) : WidenFloat16(bits);
}

/// Element `at`, widened to a float; or a double as it is.
template <class T>
REPDL_LANE T LoadNumber(const void* data, DType dtype, int64_t at) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<const double*>(data)[at];
  } else {
    if (dtype == DType::kFloat32) return static_cast<const float*>(data)[at];
    return Widened(static_cast<const uint16_t*>(data)[at], dtype);
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

/// Neighbours that a thread computes together: their loads are as wide as memory serves them.
inline constexpr int kFour = 4;

/// How the four numbers of an operand lie.
enum class FourWay : uint8_t {
  kSame,      // one number for all
  kTogether,  // side by side, at an address that is a multiple of their size
  kApart
};

/// A map whose threads compute four neighbours along its innermost loop, where there are always four, but at the end.
struct MapFours {
  int step = 1;  // kFour, or else a thread computes one
  FourWay inputs[MapArgs::kMaxInputs] = {}, output = FourWay::kApart;

  MapFours() = default;
  explicit MapFours(const MapArgs& args) {
    const int inner = args.rank - 1;
    if (args.rank > 1 && args.shape[inner] % kFour != 0) return;
    step = kFour;
    for (int t = 0; t < args.num_inputs; ++t) {
      bool steps = true;  // from four to four by whole fours
      for (int dim = 0; dim < inner; ++dim) steps = steps && args.strides[t][dim] % kFour == 0;
      const bool is_side_by_side = args.strides[t][inner] == 1 && steps;
      inputs[t] = args.strides[t][inner] == 0 ? FourWay::kSame : FourWay::kApart;
      if (is_side_by_side && IsAligned(args.inputs[t], args.input_dtypes[t])) inputs[t] = FourWay::kTogether;
    }
    if (IsAligned(args.output, args.output_dtype)) output = FourWay::kTogether;
  }

  /// Threads that have something to do.
  int64_t NumThreads(const MapArgs& args) const { return (args.numel + step - 1) / step; }

 private:
  static bool IsAligned(const void* data, DType dtype) {
    return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(kFour * ItemSize(dtype)) == 0;
  }
};

/// Four numbers of T where they lie side by side, loaded and stored as a whole.
template <class T>
struct alignas(kFour * sizeof(T) < 16 ? kFour * sizeof(T) : 16) FourTogether {
  T of[kFour];
};

/// Elements at, at + stride, …: `count` of them, which are four where they lie together.
template <class T>
REPDL_LANE void LoadFour(const void* data, DType dtype, int64_t at, int64_t stride, FourWay way, int count,
                         T (&numbers)[kFour]) {
  if (way == FourWay::kTogether && count == kFour) {
    if constexpr (sizeof(T) == 4) {
      if (dtype != DType::kFloat32) {
        const auto bits = *reinterpret_cast<const FourTogether<uint16_t>*>(static_cast<const uint16_t*>(data) + at);
        for (int e = 0; e < kFour; ++e) numbers[e] = Widened(bits.of[e], dtype);
        return;
      }
    }
    const auto loaded = *reinterpret_cast<const FourTogether<T>*>(static_cast<const T*>(data) + at);
    for (int e = 0; e < kFour; ++e) numbers[e] = loaded.of[e];
    return;
  }
  for (int e = 0; e < kFour; ++e) {
    // Of one number for all, each load but the first finds it in the cache.
    numbers[e] = e < count ? LoadNumber<T>(data, dtype, at + e * stride) : T{0};
  }
}

template <class T>
REPDL_LANE void StoreFour(void* data, DType dtype, int64_t at, FourWay way, int count, const T (&numbers)[kFour]) {
  if (way == FourWay::kTogether && count == kFour) {
    if constexpr (sizeof(T) == 4) {
      if (dtype != DType::kFloat32) {
        FourTogether<uint16_t> bits;
        for (int e = 0; e < kFour; ++e) StoreNumber(bits.of, dtype, e, numbers[e]);
        *reinterpret_cast<FourTogether<uint16_t>*>(static_cast<uint16_t*>(data) + at) = bits;
        return;
      }
    }
    FourTogether<T> stored;
    for (int e = 0; e < kFour; ++e) stored.of[e] = numbers[e];
    *reinterpret_cast<FourTogether<T>*>(static_cast<T*>(data) + at) = stored;
    return;
  }
  for (int e = 0; e < kFour; ++e) {
    if (e < count) StoreNumber(data, dtype, at + e, numbers[e]);
  }
}

/// Number e of four in registers, which no index finds.
template <class T>
REPDL_LANE T Pick(const T (&numbers)[kFour], int e) {
  return e < 2 ? (e == 0 ? numbers[0] : numbers[1]) : (e == 2 ? numbers[2] : numbers[3]);
}

/// Thread `thread` of `num_threads` computes the elements thread, thread + num_threads, and so on, or such fours of them, as
/// f(T...).
template <int kInputs, class T = float, class F>
REPDL_LANE void MapThread(const MapArgs& args, const MapFours& fours, int64_t thread, int64_t num_threads, const F& f) {
  for (int64_t at = thread * fours.step; at < args.numel; at += num_threads * fours.step) {
    const int count = args.numel - at < fours.step ? static_cast<int>(args.numel - at) : fours.step;
    int64_t offsets[kInputs];
    MapOffsets<kInputs>(args, at, offsets);
    T x[kInputs][kFour], y[kFour] = {};
    for (int t = 0; t < kInputs; ++t) {
      LoadFour(args.inputs[t], args.input_dtypes[t], offsets[t], args.strides[t][args.rank - 1], fours.inputs[t], count,
               x[t]);
    }
#if defined(__CUDA_ARCH__)  // the text of a function is long
#pragma unroll 1
#endif
    for (int e = 0; e < count; ++e) {
      T value;
      if constexpr (kInputs == 1) {
        value = f(Pick(x[0], e));
      } else if constexpr (kInputs == 2) {
        value = f(Pick(x[0], e), Pick(x[1], e));
      } else if constexpr (kInputs == 3) {
        value = f(Pick(x[0], e), Pick(x[1], e), Pick(x[2], e));
      } else {
        static_assert(kInputs == 4);
        value = f(Pick(x[0], e), Pick(x[1], e), Pick(x[2], e), Pick(x[3], e));
      }
      for (int i = 0; i < kFour; ++i) y[i] = i == e ? value : y[i];
    }
    StoreFour(args.output, args.output_dtype, at, fours.output, count, y);
  }
}

}  // namespace repdl::scalar
