// SPDX-License-Identifier: MIT
// Elementwise ops of complex numbers, which are pairs: f(real, imaginary...) of vectors at a time.
#pragma once

#include "base/parallel.h"
#include "drivers/map.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// y = f(x[0], ...) for n pairs that lie side by side in memory.
template <class T>
using PairsRun = void (*)(const T* const* x, T* y, int64_t n);

/// What the operands of a run go through where they are no pairs side by side.
constexpr int64_t kPairsRun = 256;

template <class T>
HWY_INLINE const T* PairsSideBySide(const T* x, int64_t stride, int64_t part_stride, int64_t n, T* buffer) {
  if (stride == 2 && part_stride == 1) return x;
  for (int64_t i = 0; i < n; ++i) {
    buffer[2 * i] = x[i * stride];
    buffer[2 * i + 1] = x[i * stride + part_stride];
  }
  return buffer;
}

template <class T>
HWY_NOINLINE void MapPairsRuns(const MapArgs& args, const int64_t* part_strides, int64_t grain, PairsRun<T> run) {
  const int inner = args.rank - 1;
  bool direct = true;
  for (int t = 0; t < args.num_inputs; ++t) {
    direct = direct && args.strides[t][inner] == 2 && part_strides[t] == 1;
  }
  ParallelRanges(args.numel, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN T buffers[MapArgs::kMaxInputs][2 * kPairsRun];
    for (int64_t at = begin; at < end;) {
      // The place of pair `at`: an offset into every operand.
      int64_t rest = at;
      int64_t offsets[MapArgs::kMaxInputs] = {};
      int64_t column = 0;
      for (int dim = inner; dim >= 0; --dim) {
        const int64_t index = rest % args.shape[dim];
        rest /= args.shape[dim];
        if (dim == inner) column = index;
        for (int t = 0; t < args.num_inputs; ++t) offsets[t] += index * args.strides[t][dim];
      }
      const int64_t row_end = std::min(end, at + args.shape[inner] - column);
      const int64_t longest = direct ? row_end - at : kPairsRun;
      const T* x[MapArgs::kMaxInputs] = {};
      for (; at < row_end; at += longest) {
        const int64_t n = std::min(longest, row_end - at);
        for (int t = 0; t < args.num_inputs; ++t) {
          const int64_t stride = args.strides[t][inner];
          if (stride == 0 && x[t] != nullptr) continue;  // the pair that repeats is in the buffer already
          x[t] = PairsSideBySide(static_cast<const T*>(args.inputs[t]) + offsets[t], stride, part_strides[t], n,
                                 buffers[t]);
          offsets[t] += n * stride;
        }
        run(x, static_cast<T*>(args.output) + 2 * at, n);
      }
      at = row_end;
    }
  });
}

/// output = F()(tag, parts of the inputs..., parts of the result), of pairs of T, computed in lanes of `Lane` and rounded once
/// where that is not T.
template <int kInputs, class T, class Lane, class F>
void MapPairsOf(const MapArgs& args, const int64_t* part_strides, int64_t grain) {
  const PairsRun<T> run = [](const T* const* x, T* y, int64_t n) HWY_ATTR {
    const TagOf<Lane> d;
    const hn::Rebind<T, TagOf<Lane>> own;
    const auto load = [&](const T* from, auto& real, auto& imaginary) HWY_ATTR {
      if constexpr (std::is_same_v<T, Lane>) {
        hn::LoadInterleaved2(d, from, real, imaginary);
      } else {
        hn::Vec<decltype(own)> narrow_real, narrow_imaginary;
        hn::LoadInterleaved2(own, from, narrow_real, narrow_imaginary);
        real = ToDouble(d, narrow_real);
        imaginary = ToDouble(d, narrow_imaginary);
      }
    };
    const auto apply = [&](const T* first, const T* second, T* to) HWY_ATTR {
      VecOf<Lane> a, b, real, imaginary;
      load(first, a, b);
      if constexpr (kInputs == 1) {
        F()(d, a, b, real, imaginary);
      } else {
        VecOf<Lane> c, e;
        load(second, c, e);
        F()(d, a, b, c, e, real, imaginary);
      }
      if constexpr (std::is_same_v<T, Lane>) {
        hn::StoreInterleaved2(real, imaginary, d, to);
      } else {
        hn::StoreInterleaved2(ToFloat(own, real), ToFloat(own, imaginary), own, to);
      }
    };
    constexpr int64_t kStep = kLanesOf<Lane>;
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) apply(x[0] + 2 * i, x[kInputs - 1] + 2 * i, y + 2 * i);
    if (i == n) return;
    // Lanes behind the end compute f(1 + i...): no slow subnormals, no traps.
    HWY_ALIGN T rest[kInputs][2 * kStep];
    for (int t = 0; t < kInputs; ++t) {
      std::fill_n(rest[t], 2 * kStep, T{1});
      std::copy(x[t] + 2 * i, x[t] + 2 * n, rest[t]);
    }
    apply(rest[0], rest[kInputs - 1], rest[0]);
    std::copy_n(rest[0], 2 * (n - i), y + 2 * i);
  };
  MapPairsRuns<T>(args, part_strides, grain, run);
}

/// The same for the type of the output; `Lane` is that in which float32 is computed.
template <int kInputs, class Lane, class F>
void MapPairs(const MapArgs& args, const int64_t* part_strides, int64_t grain) {
  if (args.output_dtype == DType::kFloat64) {
    MapPairsOf<kInputs, double, double, F>(args, part_strides, grain);
  } else {
    MapPairsOf<kInputs, float, Lane, F>(args, part_strides, grain);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
