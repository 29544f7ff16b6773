// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"

namespace repdl {

/// The functions of <math.h> that are ops: their names, and those of their texts.
#define REPDL_C_FUNCTIONS(UNARY, BINARY) \
  UNARY(acos, Acos)                      \
  UNARY(acosh, Acosh)                    \
  UNARY(asin, Asin)                      \
  UNARY(asinh, Asinh)                    \
  UNARY(atan, Atan)                      \
  UNARY(atanh, Atanh)                    \
  UNARY(cbrt, Cbrt)                      \
  UNARY(cos, Cos)                        \
  UNARY(cosh, Cosh)                      \
  UNARY(erf, Erf)                        \
  UNARY(erfc, Erfc)                      \
  UNARY(exp, Exp)                        \
  UNARY(exp2, Exp2)                      \
  UNARY(expm1, Expm1)                    \
  UNARY(log, Log)                        \
  UNARY(log10, Log10)                    \
  UNARY(log1p, Log1p)                    \
  UNARY(log2, Log2)                      \
  UNARY(sin, Sin)                        \
  UNARY(sinh, Sinh)                      \
  UNARY(tan, Tan)                        \
  UNARY(tanh, Tanh)                      \
  BINARY(atan2, Atan2)                   \
  BINARY(hypot, Hypot)                   \
  BINARY(pow, Pow)

/// They, of one number at a time: a call of an op takes longer to begin than these to end.
struct FunctionsOfOne {
#define REPDL_UNARY(name, Function) double (*Function)(double);
#define REPDL_BINARY(name, Function) double (*Function)(double, double);
  REPDL_C_FUNCTIONS(REPDL_UNARY, REPDL_BINARY)
#undef REPDL_UNARY
#undef REPDL_BINARY
};

#define REPDL_DECLARE_FUNCTIONS_OF_ONE(target_namespace, label) \
  namespace target_namespace {                                  \
  extern const FunctionsOfOne kFunctionsOfOne;                  \
  }
REPDL_FOR_EACH_TARGET(REPDL_DECLARE_FUNCTIONS_OF_ONE)
#undef REPDL_DECLARE_FUNCTIONS_OF_ONE

}  // namespace repdl
