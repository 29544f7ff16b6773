// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "ops/piecewise_loss/piecewise_loss_kernel.h"

namespace repdl::scalar {

#include "ops/piecewise_loss/piecewise_loss.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

REPDL_CUDA_KERNEL(PiecewiseLossKernel, PiecewiseLossArgs) {
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    scalar::WithPiecewiseLoss<T>(args,
                                 [&]<int kInputs>(const auto& text) { MapText<kInputs, T>(place, args.map, text); });
  });
}

}  // namespace repdl::cuda
