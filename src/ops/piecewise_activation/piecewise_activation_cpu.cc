// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/piecewise_activation/piecewise_activation_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/piecewise_activation/piecewise_activation.row.h"

void PiecewiseActivationKernel(const PiecewiseActivationArgs& args) {
  constexpr int64_t kGrain = 8192;
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    WithPiecewiseActivation<T>(
        args, [&]<int kInputs>(const auto& text) HWY_ATTR { MapText<kInputs, T>(args.map, kGrain, text); });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
