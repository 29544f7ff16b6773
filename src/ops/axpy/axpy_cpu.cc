// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "ops/axpy/axpy_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void AxpyKernel(const AxpyArgs& args) {
  constexpr int64_t kGrain = 8192;
  const MapArgs& map = args.map;
  const Vec c = Set(FloatTag(), args.scalar);
  // A product by 1 is exact; without it an add is as fast as memory.
  const bool is_plain = args.scalar == 1.0f;
  switch (args.op) {
    case Axpy::kAdd:
      if (is_plain) return Map<2>(map, kGrain, [](Vec x, Vec y) HWY_ATTR { return Add(x, y); });
      return Map<2>(map, kGrain, [&](Vec x, Vec y) HWY_ATTR { return Add(x, Mul(y, c)); });
    case Axpy::kSub:
      if (is_plain) return Map<2>(map, kGrain, [](Vec x, Vec y) HWY_ATTR { return Sub(x, y); });
      return Map<2>(map, kGrain, [&](Vec x, Vec y) HWY_ATTR { return Sub(x, Mul(y, c)); });
    case Axpy::kAddcmul:
      return Map<3>(map, kGrain, [&](Vec x, Vec y, Vec z) HWY_ATTR { return Add(x, Mul(Mul(y, c), z)); });
    case Axpy::kAddcdiv:
      return Map<3>(map, kGrain, [&](Vec x, Vec y, Vec z) HWY_ATTR { return Add(x, Div(Mul(y, c), z)); });
    case Axpy::kLerp:
      if (args.scalar > -0.5f && args.scalar < 0.5f) {
        return Map<2>(map, kGrain, [&](Vec x, Vec y) HWY_ATTR { return Add(x, Mul(Sub(y, x), c)); });
      }
      const Vec rest = Sub(Set(FloatTag(), 1.0f), c);
      return Map<2>(map, kGrain, [&](Vec x, Vec y) HWY_ATTR { return Sub(y, Mul(Sub(y, x), rest)); });
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
