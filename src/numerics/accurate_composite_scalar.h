// SPDX-License-Identifier: MIT
// The definitions of numerics/accurate_composite.h, in the lane words for one number.
#pragma once

#include "numerics/accurate_composite.h"
#include "numerics/accurate_scalar.h"

namespace repdl::accurate {
#if defined(__CUDACC__)
inline namespace in_kernels {
#endif

#include "numerics/accurate/sinc.lane.h"

#if defined(__CUDACC__)
}  // namespace in_kernels
#endif
}  // namespace repdl::accurate
