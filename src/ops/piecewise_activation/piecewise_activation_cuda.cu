// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "drivers/row_functions_cuda.h"
#include "ops/piecewise_activation/piecewise_activation_kernel.h"

namespace repdl::scalar {

#include "ops/piecewise_activation/piecewise_activation.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

REPDL_CUDA_KERNEL(PiecewiseActivationKernel, PiecewiseActivationArgs) {
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    scalar::WithPiecewiseActivation<T>(
        args, [&]<int kInputs>(const auto& text) { MapText<kInputs, T>(place, args.map, text); });
  });
}

}  // namespace repdl::cuda
