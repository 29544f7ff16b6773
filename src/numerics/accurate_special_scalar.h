// SPDX-License-Identifier: MIT
// The definitions of numerics/accurate_special.h, in the lane words for one number.
#pragma once

#include "numerics/accurate_scalar.h"
#include "numerics/special_scalar.h"

namespace repdl::accurate {
#if defined(__CUDACC__)
inline namespace in_kernels {
#endif

#include "numerics/accurate/bessel.lane.h"
#include "numerics/accurate/gamma.lane.h"
// The others use its logarithm.
#include "numerics/accurate/bessel_k.lane.h"
// It uses the logarithm of bessel_k.lane.h.
#include "numerics/accurate/bessel_jy.lane.h"
// It uses the continued fraction of bessel_k.lane.h.
#include "numerics/accurate/airy.lane.h"
#include "numerics/accurate/normal.lane.h"

#if defined(__CUDACC__)
}  // namespace in_kernels
#endif
}  // namespace repdl::accurate
