// SPDX-License-Identifier: MIT
// The functions that texts of rows take, of each type.
#pragma once

#include "drivers/vector_cpu-inl.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

HWY_INLINE VecOf<float> ExpOfEach(VecOf<float> x) { return Exp(x); }
HWY_INLINE VecOf<float> LogOfEach(VecOf<float> x) { return Log(x); }
HWY_INLINE VecOf<float> SigmoidOfEach(VecOf<float> x) { return Sigmoid(x); }
HWY_INLINE VecOf<float> SigmoidGradOfEach(VecOf<float> grad, VecOf<float> y) { return SigmoidGrad(grad, y); }
HWY_INLINE VecOf<float> TanhOfEach(VecOf<float> x) { return Tanh(x); }
HWY_INLINE VecOf<float> TanhGradOfEach(VecOf<float> grad, VecOf<float> y) { return TanhGrad(grad, y); }
// Long enough that a call costs nothing, and one copy of them is enough.
HWY_NOINLINE HWY_MAYBE_UNUSED inline VecOf<double> ExpOfEach(VecOf<double> x) {
  return ExpDouble()(TagOf<double>(), x);
}
HWY_NOINLINE HWY_MAYBE_UNUSED inline VecOf<double> LogOfEach(VecOf<double> x) {
  return LogDouble()(TagOf<double>(), x);
}
HWY_NOINLINE HWY_MAYBE_UNUSED inline VecOf<double> SigmoidOfEach(VecOf<double> x) {
  return SigmoidDouble()(TagOf<double>(), x);
}
HWY_INLINE VecOf<double> SigmoidGradOfEach(VecOf<double> grad, VecOf<double> y) {
  return SigmoidGradDouble()(TagOf<double>(), grad, y);
}
HWY_NOINLINE HWY_MAYBE_UNUSED inline VecOf<double> TanhOfEach(VecOf<double> x) {
  return TanhDouble()(TagOf<double>(), x);
}
HWY_INLINE VecOf<double> TanhGradOfEach(VecOf<double> grad, VecOf<double> y) {
  return TanhGradDouble()(TagOf<double>(), grad, y);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
