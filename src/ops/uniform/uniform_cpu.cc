// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/uniform/uniform_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class T>
static void MoveTo(const UniformArgs<T>& args) {
  Map<1, T>(args.map, 8192, [range = args.range, low = args.low](auto u) HWY_ATTR {
    const TagOf<T> d;
    return Fma(u, Set(d, range), Set(d, low));
  });
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
        const Vec radius = Sqrt(Mul(Log(Sub(Set(d, 1.0f), Load(d, u + i))), Set(d, -2.0f)));
        const Vec turns = Mul(Load(d, a + i), Set(d, 2.0f)), std = Set(d, args.std), mean = Set(d, args.mean);
        Store(Add(Mul(Mul(radius, CosPi(turns)), std), mean), d, u + i);
        Store(Add(Mul(Mul(radius, SinPi(turns)), std), mean), d, a + i);
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
