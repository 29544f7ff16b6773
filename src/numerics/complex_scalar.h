// SPDX-License-Identifier: MIT
// The functions of complex numbers for one number, on the host and in CUDA kernels.
#pragma once

#include "numerics/functions_scalar.h"

namespace repdl::scalar {

template <class D>
inline constexpr bool kIsFloats = std::is_same_v<D, Tag<float>>;

#include "numerics/complex.lane.h"

}  // namespace repdl::scalar
