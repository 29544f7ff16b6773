// SPDX-License-Identifier: MIT
// The functions that texts of rows take, of each type.
#pragma once

#include "drivers/vector_cpu-inl.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

HWY_INLINE VecOf<float> ExpOfEach(VecOf<float> x) { return Exp(x); }
HWY_INLINE VecOf<float> LogOfEach(VecOf<float> x) { return Log(x); }
// Long enough that a call costs nothing, and one copy of them is enough.
HWY_NOINLINE HWY_MAYBE_UNUSED inline VecOf<double> ExpOfEach(VecOf<double> x) {
  return ExpDouble()(TagOf<double>(), x);
}
HWY_NOINLINE HWY_MAYBE_UNUSED inline VecOf<double> LogOfEach(VecOf<double> x) {
  return LogDouble()(TagOf<double>(), x);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
