// SPDX-License-Identifier: MIT
// The definitions of numerics/accurate.h, in the lane words for one number.
#pragma once

#include "numerics/accurate.h"
#include "numerics/functions_scalar.h"

#if defined(__CUDACC__)
#define REPDL_ACCURATE_PART __host__ __device__ inline
#else
#define REPDL_ACCURATE_PART inline
#endif

namespace repdl::accurate {
#if defined(__CUDACC__)
inline namespace in_kernels {
#endif

using scalar::Abs;
using scalar::Add;
using scalar::And;
using scalar::BitCast;
using scalar::CopySign;
using scalar::Div;
using scalar::Eq;
using scalar::Fma;
using scalar::Lt;
using scalar::Mul;
using scalar::Neg;
using scalar::NotEq;
using scalar::Round;
using scalar::RoundToOdd;
using scalar::ShiftLeft;
using scalar::ShiftRightLogical;
using scalar::Sqrt;
using scalar::Sub;
using scalar::Tag;
using scalar::TwoProd;
using scalar::TwoSum;

#include "numerics/accurate/triple_double.lane.h"
// The others use it.
#include "numerics/accurate/error_function.lane.h"
#include "numerics/accurate/root.lane.h"
#include "numerics/accurate/trig.lane.h"

#if defined(__CUDACC__)
}  // namespace in_kernels
#endif
}  // namespace repdl::accurate
