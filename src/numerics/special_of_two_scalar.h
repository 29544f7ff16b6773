// SPDX-License-Identifier: MIT
// The special functions of two numbers for one number, on the host and in CUDA kernels.
#pragma once

#include "numerics/special_scalar.h"

namespace repdl::scalar {

#include "numerics/special_of_two.lane.h"

}  // namespace repdl::scalar
