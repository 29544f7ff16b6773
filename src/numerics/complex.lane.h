// SPDX-License-Identifier: MIT
// Every function of complex numbers, in steps of real ones. What includes this defines kIsFloats<D>, whether a tag is that
// of floats.

// The functions of real numbers, rounded to floats or to doubles. They are called, as many functions need the same.
#define REPDL_REAL_FUNCTION(Function)                \
  template <class D, class... V>                     \
  REPDL_LANE_RARE auto Real##Function(D d, V... x) { \
    if constexpr (kIsFloats<D>) {                    \
      return Function(x...);                         \
    } else {                                         \
      return Function##Double()(d, x...);            \
    }                                                \
  }
REPDL_REAL_FUNCTION(Asinh)
REPDL_REAL_FUNCTION(Atan2)
REPDL_REAL_FUNCTION(Cos)
REPDL_REAL_FUNCTION(Cosh)
REPDL_REAL_FUNCTION(Exp)
REPDL_REAL_FUNCTION(Expm1)
REPDL_REAL_FUNCTION(Hypot)
REPDL_REAL_FUNCTION(Log)
REPDL_REAL_FUNCTION(Log1p)
REPDL_REAL_FUNCTION(Sin)
REPDL_REAL_FUNCTION(Sinh)
REPDL_REAL_FUNCTION(Tan)
#undef REPDL_REAL_FUNCTION

/// A constant, rounded to the type of the tag.
template <class D>
REPDL_LANE auto Rounded(D d, double value) {
  if constexpr (kIsFloats<D>) {
    return Set(d, static_cast<float>(value));
  } else {
    return Set(d, value);
  }
}

/// A number for its sign: 1 in the place of a NaN, whose sign is not the same everywhere, since GPUs do not change it.
template <class D, class V>
REPDL_LANE V WithASign(D d, V x) {
  return IfThenElse(Eq(x, x), x, Set(d, 1));
}

// clang-format off: others use the first
#include "numerics/functions/complex_arithmetic.lane.h"
#include "numerics/functions/complex_exponential.lane.h"
#include "numerics/functions/complex_logarithmic.lane.h"
#include "numerics/functions/complex_sqrt.lane.h"
#include "numerics/functions/complex_hyperbolic.lane.h"
#include "numerics/functions/complex_inverse.lane.h"
#include "numerics/functions/complex_logaddexp.lane.h"
#include "numerics/functions/complex_sinc.lane.h"
