// SPDX-License-Identifier: MIT
// The functions of composite.lane.h for one number, on the host and in CUDA kernels.
#pragma once

#include "numerics/accurate_composite.h"
#include "numerics/functions_scalar.h"

namespace repdl::scalar {

#include "numerics/composite.lane.h"

}  // namespace repdl::scalar

#if defined(__CUDACC__)
#include "numerics/accurate_composite_scalar.h"
#endif
