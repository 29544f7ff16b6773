// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/log_loss/log_loss_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/log_loss/log_loss.row.h"

void LogLossKernel(const LogLossArgs& args) {
  constexpr int64_t kGrain = 2048;
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    WithLogLoss<T>(args, [&]<int kInputs>(const auto& text) HWY_ATTR { MapText<kInputs, T>(args.map, kGrain, text); });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
