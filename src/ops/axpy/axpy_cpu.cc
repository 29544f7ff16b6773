// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "ops/axpy/axpy_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/axpy/axpy.row.h"

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
      return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return AddMultiple(x, y, c); });
    case Axpy::kSub:
      if (is_plain) return MapTwo<T>(map, kGrain, [](V x, V y) HWY_ATTR { return Sub(x, y); });
      return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return SubMultiple(x, y, c); });
    case Axpy::kAddcmul:
      return Map<3, T, 4>(map, kGrain, [&](V x, V y, V z) HWY_ATTR { return AddProduct(x, y, z, c); });
    case Axpy::kAddcdiv:
      return Map<3, T, 4>(map, kGrain, [&](V x, V y, V z) HWY_ATTR { return AddQuotient(x, y, z, c); });
    case Axpy::kLerpTensor:
      return Map<3, T, 4>(map, kGrain, [](V x, V y, V w) HWY_ATTR { return LerpBy(TagOf<T>(), x, y, w); });
    case Axpy::kLerp:
      if (scalar > -0.5 && scalar < 0.5) {
        return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return LerpFromStart(x, y, c); });
      }
      const V rest = Sub(Set(TagOf<T>(), 1), c);
      return MapTwo<T>(map, kGrain, [&](V x, V y) HWY_ATTR { return LerpFromEnd(x, y, rest); });
  }
}

void AxpyKernel(const AxpyArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
