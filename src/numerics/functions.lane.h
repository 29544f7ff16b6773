// SPDX-License-Identifier: MIT
// Every function of src/numerics.
#include "numerics/parts.lane.h"

// Others use these.
#include "numerics/functions/maximum.lane.h"
#include "numerics/functions/minimum.lane.h"
#include "numerics/functions/sigmoid.lane.h"

#include "numerics/functions/acosh.lane.h"
#include "numerics/functions/asin.lane.h"
#include "numerics/functions/asinh.lane.h"
#include "numerics/functions/atan.lane.h"
#include "numerics/functions/atan2.lane.h"
#include "numerics/functions/atanh.lane.h"
#include "numerics/functions/cbrt.lane.h"
#include "numerics/functions/clamp.lane.h"
#include "numerics/functions/cosh.lane.h"
#include "numerics/functions/cube.lane.h"
#include "numerics/functions/elu.lane.h"
#include "numerics/functions/erf.lane.h"
#include "numerics/functions/erfc.lane.h"
#include "numerics/functions/erfinv.lane.h"
#include "numerics/functions/exp.lane.h"
#include "numerics/functions/exp10.lane.h"
#include "numerics/functions/exp2.lane.h"
#include "numerics/functions/expm1.lane.h"
#include "numerics/functions/fmax.lane.h"
#include "numerics/functions/fmin.lane.h"
#include "numerics/functions/gelu.lane.h"
#include "numerics/functions/gelu_tanh.lane.h"
#include "numerics/functions/hypot.lane.h"
#include "numerics/functions/log.lane.h"
#include "numerics/functions/log10.lane.h"
#include "numerics/functions/log1p.lane.h"
#include "numerics/functions/log2.lane.h"
#include "numerics/functions/logaddexp.lane.h"
#include "numerics/functions/logsigmoid.lane.h"
#include "numerics/functions/mish.lane.h"
#include "numerics/functions/pow.lane.h"
#include "numerics/functions/reciprocal.lane.h"
#include "numerics/functions/relu.lane.h"
#include "numerics/functions/remainder.lane.h"
#include "numerics/functions/rsqrt.lane.h"
#include "numerics/functions/selu.lane.h"
#include "numerics/functions/silu.lane.h"
#include "numerics/functions/sin.lane.h"
#include "numerics/functions/sinh.lane.h"
#include "numerics/functions/sinpi.lane.h"
#include "numerics/functions/softplus.lane.h"
#include "numerics/functions/softsign.lane.h"
#include "numerics/functions/sqrt.lane.h"
#include "numerics/functions/square.lane.h"
#include "numerics/functions/tan.lane.h"
#include "numerics/functions/tanh.lane.h"
#include "numerics/functions/xlogy.lane.h"

/// Function##Double is the text for floats, which is right for doubles too: each of its steps is exact or what the contract
/// rounds.
#define REPDL_SAME_FOR_DOUBLES(Function)          \
  struct Function##Double {                       \
    template <class D, class... V>                \
    REPDL_LANE auto operator()(D, V... x) const { \
      return Function(x...);                      \
    }                                             \
  };
REPDL_SAME_FOR_DOUBLES(ClampMax)
REPDL_SAME_FOR_DOUBLES(ClampMin)
REPDL_SAME_FOR_DOUBLES(Cube)
REPDL_SAME_FOR_DOUBLES(Div)
REPDL_SAME_FOR_DOUBLES(Fmax)
REPDL_SAME_FOR_DOUBLES(Fmin)
REPDL_SAME_FOR_DOUBLES(Maximum)
REPDL_SAME_FOR_DOUBLES(Minimum)
REPDL_SAME_FOR_DOUBLES(Mul)
REPDL_SAME_FOR_DOUBLES(Reciprocal)
REPDL_SAME_FOR_DOUBLES(Relu)
REPDL_SAME_FOR_DOUBLES(ReluGrad)
REPDL_SAME_FOR_DOUBLES(Sqrt)
REPDL_SAME_FOR_DOUBLES(Square)
#undef REPDL_SAME_FOR_DOUBLES
