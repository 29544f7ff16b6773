// SPDX-License-Identifier: MIT
// The accurate steps of the functions of composite.lane.h: see accurate.h.
#pragma once

#include "numerics/accurate.h"

namespace repdl::accurate {
#if defined(__CUDACC__)
inline namespace in_kernels {
#endif

REPDL_ACCURATE double Sinc(double x);

#if defined(__CUDACC__)
}  // namespace in_kernels
#endif
}  // namespace repdl::accurate
