// SPDX-License-Identifier: MIT
#include "repdl/c_math.h"

#include <cerrno>
#include <cmath>

#include "base/fp_env.h"
#include "ops/elementwise/c_math_kernel.h"

namespace repdl {
namespace {

const FunctionsOfOne& OfActiveTarget() {
#define REPDL_FUNCTIONS_OF_ONE(target_namespace, label) &target_namespace::kFunctionsOfOne,
  static constexpr const FunctionsOfOne* kTargets[] = {REPDL_FOR_EACH_TARGET(REPDL_FUNCTIONS_OF_ONE)};
#undef REPDL_FUNCTIONS_OF_ONE
  return *kTargets[internal::ActiveTargetIndex()];
}

template <auto kFunction, class... Xs>
double Of(Xs... x) {
  const FpEnvGuard guard;
  const double y = (OfActiveTarget().*kFunction)(x...);
  if (!std::isfinite(y)) [[unlikely]] {
    if (std::isnan(y)) {
      if (!(std::isnan(x) || ...)) errno = EDOM;
    } else if ((std::isfinite(x) && ...)) {
      errno = ERANGE;
    }
  }
  return y;
}

void SinCos(double x, double* sine, double* cosine) {
  *sine = Of<&FunctionsOfOne::Sin>(x);
  *cosine = Of<&FunctionsOfOne::Cos>(x);
}

}  // namespace

std::span<const CFunction> CFunctions() {
#define REPDL_UNARY(name, Function) {#name, reinterpret_cast<void*>(&Of<&FunctionsOfOne::Function, double>)},
#define REPDL_BINARY(name, Function) {#name, reinterpret_cast<void*>(&Of<&FunctionsOfOne::Function, double, double>)},
  static const CFunction kFunctions[] = {
      REPDL_C_FUNCTIONS(REPDL_UNARY, REPDL_BINARY){"sincos", reinterpret_cast<void*>(&SinCos)}};
#undef REPDL_UNARY
#undef REPDL_BINARY
  return kFunctions;
}

}  // namespace repdl
