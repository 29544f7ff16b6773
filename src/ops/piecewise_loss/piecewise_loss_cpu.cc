// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "ops/piecewise_loss/piecewise_loss_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/piecewise_loss/piecewise_loss.row.h"

/// Of gradients of a sum or a mean, that of each term is one number.
template <class T, class Text>
static void MapSlopes(const MapArgs& args, int64_t grain, const Text& text) {
  using V = VecOf<T>;
  if (!IsOneNumber(args, 0)) return MapText<3, T, 4>(args, grain, text);
  const V g = OneNumber<T>(args, 0);
  Map<2, T, 4>(Without(args, 0), grain, [&](V x, V y) HWY_ATTR { return text(TagOf<T>(), g, x, y); });
}

void PiecewiseLossKernel(const PiecewiseLossArgs& args) {
  constexpr int64_t kGrain = 8192;
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    WithPiecewiseLoss<T>(args, [&]<int kInputs>(const auto& text) HWY_ATTR {
      if constexpr (kInputs == 3) {
        MapSlopes<T>(args.map, kGrain, text);
      } else {
        MapText<kInputs, T, 4>(args.map, kGrain, text);
      }
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
