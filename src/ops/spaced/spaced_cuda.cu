// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "ops/spaced/spaced_kernel.h"

namespace repdl::scalar {

#include "ops/spaced/spaced.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

REPDL_CUDA_KERNEL(SpacedKernel, SpacedArgs) {
  DispatchReal(args.map.output_dtype, [&]<class T>() {
    scalar::WithSpaced<T>(args, [&]<int kInputs>(const auto& text) { MapText<kInputs, T>(place, args.map, text); });
  });
}

}  // namespace repdl::cuda
