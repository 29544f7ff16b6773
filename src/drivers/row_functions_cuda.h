// SPDX-License-Identifier: MIT
// The functions that texts of rows take, of one number of each type.
#pragma once

#include "numerics/functions_scalar.h"

namespace repdl::scalar {

#define REPDL_ROW_FUNCTION(Function)                                 \
  REPDL_LANE float Function##OfEach(float x) { return Function(x); } \
  REPDL_LANE double Function##OfEach(double x) { return Function##Double()(Tag<double>(), x); }
REPDL_ROW_FUNCTION(Exp)
REPDL_ROW_FUNCTION(Expm1)
REPDL_ROW_FUNCTION(Log)
REPDL_ROW_FUNCTION(Log1p)
REPDL_ROW_FUNCTION(Logsigmoid)
REPDL_ROW_FUNCTION(Sigmoid)
REPDL_ROW_FUNCTION(Softplus)
REPDL_ROW_FUNCTION(Tanh)
#undef REPDL_ROW_FUNCTION

REPDL_LANE float SigmoidGradOfEach(float grad, float y) { return SigmoidGrad(grad, y); }
REPDL_LANE double SigmoidGradOfEach(double grad, double y) { return SigmoidGradDouble()(Tag<double>(), grad, y); }
REPDL_LANE float TanhGradOfEach(float grad, float y) { return TanhGrad(grad, y); }
REPDL_LANE double TanhGradOfEach(double grad, double y) { return TanhGradDouble()(Tag<double>(), grad, y); }

}  // namespace repdl::scalar
