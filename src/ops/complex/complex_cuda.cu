// SPDX-License-Identifier: MIT
#define REPDL_FAMILY "repdl/ops/complex.def"
#include "drivers/pairs_cuda.h"
#include "numerics/complex_scalar.h"
#include "ops/complex/complex_kernel.h"

namespace repdl::cuda {

#define REPDL_COMPLEX_UNARY(op, Function, Lanes) \
  REPDL_CUDA_KERNEL(Function##Kernel, PairsArgs) { MapPairs<1, Lanes, scalar::Function>(place, args); }
#define REPDL_COMPLEX_BINARY(op, Function, Lanes, first, second) \
  REPDL_CUDA_KERNEL(Function##Kernel, PairsArgs) { MapPairs<2, Lanes, scalar::Function>(place, args); }
#include REPDL_FAMILY
#undef REPDL_COMPLEX_UNARY
#undef REPDL_COMPLEX_BINARY

}  // namespace repdl::cuda
