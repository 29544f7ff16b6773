// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/uniform/uniform_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/uniform/uniform.row.h"

template <class T>
static void MoveTo(const UniformArgs<T>& args) {
  MapText<1, T>(args.map, 8192, UniformText<T>{args.range, args.low});
}

void UniformKernel(const UniformArgs<float>& args) { MoveTo(args); }
void UniformKernel(const UniformArgs<double>& args) { MoveTo(args); }

void BoxMullerKernel(const BoxMullerArgs& args) {
  constexpr int64_t kHalf = 8, kRun = 32;  // numbers of half a block; blocks at a time
  ParallelRanges(args.blocks, 64, [&](int64_t begin, int64_t end) HWY_ATTR {
    const FloatTag d;
    HWY_ALIGN float u[kRun * kHalf] = {}, a[kRun * kHalf] = {};
    for (int64_t at = begin; at < end; at += kRun) {
      const int64_t blocks = std::min(kRun, end - at);
      const float* const from = args.input + at * 2 * kHalf;
      float* const to = args.output + at * 2 * kHalf;
      for (int64_t b = 0; b < blocks; ++b) {
        std::copy_n(from + b * 2 * kHalf, kHalf, u + b * kHalf);
        std::copy_n(from + b * 2 * kHalf + kHalf, kHalf, a + b * kHalf);
      }
      for (int64_t i = 0; i < blocks * kHalf; i += kLanes) {
        Vec first = Load(d, u + i), second = Load(d, a + i);
        BoxMullerPair(d, args.mean, args.std, first, second);
        Store(first, d, u + i);
        Store(second, d, a + i);
      }
      for (int64_t b = 0; b < blocks; ++b) {
        std::copy_n(u + b * kHalf, kHalf, to + b * 2 * kHalf);
        std::copy_n(a + b * kHalf, kHalf, to + b * 2 * kHalf + kHalf);
      }
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
