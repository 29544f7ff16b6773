// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "ops/axpy/axpy_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class T>
void Run(const AxpyArgs& args) {
  using V = VecOf<T>;
  constexpr int64_t kGrain = 8192;
  const MapArgs& map = args.map;
  const T scalar = static_cast<T>(args.scalar);
  const V c = Set(TagOf<T>(), scalar);
  // A product by 1 is exact; without it an add is as fast as memory.
  const bool is_plain = scalar == 1;
  switch (args.op) {
    case Axpy::kAdd:
      if (is_plain) return MapTwo<T>(map, kGrain, [](V x, V y) HWY_ATTR { return Add(x, y); });
      return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return Add(x, Mul(y, c)); });
    case Axpy::kSub:
      if (is_plain) return MapTwo<T>(map, kGrain, [](V x, V y) HWY_ATTR { return Sub(x, y); });
      return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return Sub(x, Mul(y, c)); });
    case Axpy::kAddcmul:
      return Map<3, T, 4>(map, kGrain, [&](V x, V y, V z) HWY_ATTR { return Add(x, Mul(Mul(y, c), z)); });
    case Axpy::kAddcdiv:
      return Map<3, T, 4>(map, kGrain, [&](V x, V y, V z) HWY_ATTR { return Add(x, Div(Mul(y, c), z)); });
    case Axpy::kLerpTensor: {
      const V one = Set(TagOf<T>(), 1), half = Set(TagOf<T>(), T{0.5});
      return Map<3, T, 4>(map, kGrain, [&](V x, V y, V w) HWY_ATTR {
        const V difference = Sub(y, x);
        const V near = Add(x, Mul(difference, w));
        return IfThenElse(Lt(Abs(w), half), near, Sub(y, Mul(difference, Sub(one, w))));
      });
    }
    case Axpy::kLerp:
      if (scalar > -0.5 && scalar < 0.5) {
        return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return Add(x, Mul(Sub(y, x), c)); });
      }
      const V rest = Sub(Set(TagOf<T>(), 1), c);
      return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return Sub(y, Mul(Sub(y, x), rest)); });
  }
}

void AxpyKernel(const AxpyArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
