// SPDX-License-Identifier: MIT
// Elementwise ops: f(x...) of one vector at a time.
#pragma once

#include "base/parallel.h"
#include "drivers/map.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// A run of an operand side by side: itself if its elements are, else copied to the buffer.
HWY_INLINE const float* SideBySide(const float* x, int64_t stride, int64_t n, float* buffer) {
  if (stride == 1) return x;
  for (int64_t i = 0; i < n; ++i) buffer[i] = x[i * stride];
  return buffer;
}

template <int kInputs, class F>
HWY_INLINE void MapRun(const F& f, const float* const* x, float* y, int64_t n) {
  ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR {
    // Lanes behind the end compute f(1...): no slow subnormals, no traps.
    if constexpr (kInputs == 1) {
      StoreN(f(LoadN(x[0] + i, count, 1.0f)), y + i, count);
    } else {
      StoreN(f(LoadN(x[0] + i, count, 1.0f), LoadN(x[1] + i, count, 1.0f)), y + i, count);
    }
  });
}

/// output = f(inputs...), in parallel. `grain` is the number of elements worth a fork.
template <int kInputs, class F>
void Map(const MapArgs& args, int64_t grain, const F& f) {
  constexpr int64_t kRun = 512;
  const int inner = args.rank - 1;
  ParallelRanges(args.numel, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    HWY_ALIGN float buffers[kInputs][kRun];
    for (int64_t at = begin; at < end;) {
      // The place of element `at`: an offset into every operand.
      int64_t rest = at;
      int64_t offsets[kInputs] = {};
      int64_t column = 0;
      for (int dim = inner; dim >= 0; --dim) {
        const int64_t index = rest % args.shape[dim];
        rest /= args.shape[dim];
        if (dim == inner) column = index;
        for (int t = 0; t < kInputs; ++t) offsets[t] += index * args.strides[t][dim];
      }
      const int64_t row_end = std::min(end, at + args.shape[inner] - column);
      bool contiguous = true;
      for (int t = 0; t < kInputs; ++t) contiguous = contiguous && args.strides[t][inner] == 1;
      const int64_t longest = contiguous ? row_end - at : kRun;
      for (; at < row_end; at += longest) {
        const int64_t n = std::min(longest, row_end - at);
        const float* x[kInputs];
        for (int t = 0; t < kInputs; ++t) {
          const int64_t stride = args.strides[t][inner];
          x[t] = SideBySide(args.inputs[t] + offsets[t], stride, n, buffers[t]);
          offsets[t] += n * stride;
        }
        MapRun<kInputs>(f, x, args.output + at, n);
      }
      at = row_end;
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
