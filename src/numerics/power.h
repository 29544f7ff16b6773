// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace repdl {

/// base^exponent for 0 <= base <= 1 and exponent >= 0, rounded to double from more than 100 bits: the
/// double that a correctly rounded pow() gives, but for a chance of about 2^-50. Only IEEE operations, so
/// the bits do not depend on a C library.
double PowInt(double base, int64_t exponent);

/// base^exponent, as PowInt for an integer exponent that is not negative, and else as the op `pow` of doubles.
double PowReal(double base, double exponent);

}  // namespace repdl
