// SPDX-License-Identifier: MIT
// The special functions for one number, on the host and in CUDA kernels.
#pragma once

#include "numerics/accurate_special.h"
#include "numerics/functions_scalar.h"

namespace repdl::scalar {

#include "numerics/special.lane.h"

}  // namespace repdl::scalar

#if defined(__CUDACC__)
#include "numerics/accurate_special_scalar.h"
#endif
