// SPDX-License-Identifier: MIT
#include <limits>

#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "numerics/functions_scalar.h"
#include "ops/clamp/clamp_kernel.h"

namespace repdl::scalar {

#include "ops/clamp/clamp.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

REPDL_CUDA_KERNEL(ClampKernel, ClampArgs) {
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    scalar::WithClamp<T>(args, [&]<int kInputs>(const auto& text) { MapText<kInputs, T>(place, args.map, text); });
  });
}

}  // namespace repdl::cuda
