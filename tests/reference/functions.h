// SPDX-License-Identifier: MIT
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "repdl/tensor.h"

namespace repdl::reference {

/// A format of IEEE-754's kind: its precision, and the exponents of the smallest subnormal and of the largest number,
/// for a fraction in [1/2, 1).
struct Format {
  mpfr_prec_t precision;
  mpfr_exp_t emin, emax;
};
inline constexpr Format kFloat16 = {11, -23, 16};
inline constexpr Format kBFloat16 = {8, -132, 128};
inline constexpr Format kFloat32 = {24, -148, 128};
inline constexpr Format kFloat64 = {53, -1073, 1024};

/// The format of a dtype; throws for one that has none.
const Format& FormatOf(DType dtype);

/// A mathematical function. `exact` rounds its value to the precision of `result`, to nearest, and returns MPFR's
/// ternary value; functions of one number ignore y.
struct Function {
  enum class Kind { kUnary, kDerivative, kBinary };

  std::string_view name;  // of the op
  Kind kind;
  int (*exact)(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y);
  bool is_formula;  // of formulas.cc, where each step rounds
};

/// The rows of functions.def.
std::span<const Function> Functions();

/// The function of this op or nullptr.
const Function* FindFunction(std::string_view op);

/// function(x) or function(x, y), rounded once to `format`, of doubles to double: correctly rounded, subnormals included.
template <class T = float>
T Rounded(const Function& function, T x, T y = 0, const Format& format = kFloat32);

/// exp(x), correctly rounded.
template <class T>
T Exp(T x);

/// log(x), correctly rounded.
template <class T>
T Log(T x);

/// base to the power of exponent, rounded to double.
double Power(double base, int64_t exponent);

}  // namespace repdl::reference
