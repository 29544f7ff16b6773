// SPDX-License-Identifier: MIT
#pragma once

#include <mpfr.h>

#include <cstdint>

namespace repdl::reference {

/// function(x), rounded once.
float Rounded(int (*function)(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding), float x);

/// exp(x), correctly rounded.
float Exp(float x);

/// log(x), correctly rounded.
float Log(float x);

/// base to the power of exponent, rounded to double.
double Power(double base, int64_t exponent);

}  // namespace repdl::reference
