// SPDX-License-Identifier: MIT
// The functions that texts of rows take, of each type.
#pragma once

#include "drivers/vector_cpu-inl.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

// Those of doubles are long enough that a call costs nothing, and one copy of them is enough.
#define REPDL_ROW_FUNCTION(Function)                                                     \
  HWY_INLINE VecOf<float> Function##OfEach(VecOf<float> x) { return Function(x); }       \
  HWY_NOINLINE HWY_MAYBE_UNUSED inline VecOf<double> Function##OfEach(VecOf<double> x) { \
    return Function##Double()(TagOf<double>(), x);                                       \
  }
REPDL_ROW_FUNCTION(Exp)
REPDL_ROW_FUNCTION(Expm1)
REPDL_ROW_FUNCTION(Log)
REPDL_ROW_FUNCTION(Log1p)
REPDL_ROW_FUNCTION(Logsigmoid)
REPDL_ROW_FUNCTION(Sigmoid)
REPDL_ROW_FUNCTION(Softplus)
REPDL_ROW_FUNCTION(Tanh)
#undef REPDL_ROW_FUNCTION

HWY_INLINE VecOf<float> SigmoidGradOfEach(VecOf<float> grad, VecOf<float> y) { return SigmoidGrad(grad, y); }
HWY_INLINE VecOf<double> SigmoidGradOfEach(VecOf<double> grad, VecOf<double> y) {
  return SigmoidGradDouble()(TagOf<double>(), grad, y);
}
HWY_INLINE VecOf<float> TanhGradOfEach(VecOf<float> grad, VecOf<float> y) { return TanhGrad(grad, y); }
HWY_INLINE VecOf<double> TanhGradOfEach(VecOf<double> grad, VecOf<double> y) {
  return TanhGradDouble()(TagOf<double>(), grad, y);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
