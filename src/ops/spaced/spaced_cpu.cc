// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "ops/spaced/spaced_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/spaced/spaced.row.h"

void SpacedKernel(const SpacedArgs& args) {
  constexpr int64_t kGrain = 8192;
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    WithSpaced<T>(args, [&]<int kInputs>(const auto& text) HWY_ATTR { MapText<kInputs, T>(args.map, kGrain, text); });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
