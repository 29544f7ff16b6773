// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "ops/sum/sum_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void SumKernel(const ReduceArgs& args) {
  DispatchReal(args.dtype, [&]<class T>() { Reduce<T>(args); });
}

void SquaredDistanceKernel(const MapArgs& args) {
  constexpr int64_t kGrain = 8192;
  DispatchReal(args.output_dtype, [&]<class T>() {
    Map<2, T>(args, kGrain, [](VecOf<T> x, VecOf<T> c) HWY_ATTR {
      const VecOf<T> away = Sub(x, c);
      return Mul(away, away);
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
