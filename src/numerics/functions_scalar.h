// SPDX-License-Identifier: MIT
// The functions of src/numerics for one number, on the host and in CUDA kernels.
#pragma once

#include "numerics/accurate.h"
#include "numerics/lanes/scalar.h"

namespace repdl::scalar {

#include "numerics/functions.lane.h"

}  // namespace repdl::scalar

#if defined(__CUDACC__)
#include "numerics/accurate_scalar.h"
#endif
