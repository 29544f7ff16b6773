// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "drivers/row_functions_cuda.h"
#include "ops/log_loss/log_loss_kernel.h"

namespace repdl::scalar {

#include "ops/log_loss/log_loss.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

REPDL_CUDA_KERNEL(LogLossKernel, LogLossArgs) {
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    scalar::WithLogLoss<T>(args, [&]<int kInputs>(const auto& text) { MapText<kInputs, T>(place, args.map, text); });
  });
}

}  // namespace repdl::cuda
