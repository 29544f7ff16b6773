// SPDX-License-Identifier: MIT
#include <limits>

#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/clamp/clamp_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/clamp/clamp.row.h"

void ClampKernel(const ClampArgs& args) {
  constexpr int64_t kGrain = 8192;
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    WithClamp<T>(args, [&]<int kInputs>(const auto& text) HWY_ATTR { MapText<kInputs, T, 4>(args.map, kGrain, text); });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
