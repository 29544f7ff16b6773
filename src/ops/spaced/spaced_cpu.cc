// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "ops/spaced/spaced_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class T>
void Run(const SpacedArgs& args) {
  using V = VecOf<T>;
  constexpr int64_t kGrain = 8192;
  const TagOf<T> d;
  const V start = Set(d, static_cast<T>(args.start)), end = Set(d, static_cast<T>(args.end));
  const V last = Set(d, static_cast<T>(args.count - 1)), middle = Set(d, static_cast<T>(args.count / 2));
  const V step = Div(Sub(end, start), last);
  Map<1, T>(args.map, kGrain, [&](V i) HWY_ATTR {
    const V upwards = Add(start, Mul(step, i));
    return IfThenElse(Lt(i, middle), upwards, Sub(end, Mul(step, Sub(last, i))));
  });
}

void SpacedKernel(const SpacedArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
