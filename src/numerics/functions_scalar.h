// SPDX-License-Identifier: MIT
// The functions of src/numerics for one number, on the host and in CUDA kernels.
#pragma once

#include "numerics/lanes/scalar.h"

namespace repdl::scalar {

#include "numerics/exp.lane.h"
#include "numerics/log.lane.h"
#include "numerics/relu.lane.h"

}  // namespace repdl::scalar
