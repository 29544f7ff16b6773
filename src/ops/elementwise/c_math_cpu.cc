// SPDX-License-Identifier: MIT
#include "drivers/vector_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/elementwise/c_math_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// F of one number, in the first lane. The others compute F(1...), as those behind the end of an array do.
template <class F, class... Xs>
double OfOne(Xs... x) {
  return hn::GetLane(F()(TagOf<double>(), LoadN(&x, 1, 1)...));
}

}  // namespace

const FunctionsOfOne kFunctionsOfOne = {
#define REPDL_UNARY(name, Function) &OfOne<Function##Double, double>,
#define REPDL_BINARY(name, Function) &OfOne<Function##Double, double, double>,
    REPDL_C_FUNCTIONS(REPDL_UNARY, REPDL_BINARY)
#undef REPDL_UNARY
#undef REPDL_BINARY
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
