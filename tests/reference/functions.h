// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace repdl::reference {

/// exp(x), correctly rounded.
float Exp(float x);

/// log(x), correctly rounded.
float Log(float x);

/// base to the power of exponent, rounded to double.
double Power(double base, int64_t exponent);

}  // namespace repdl::reference
