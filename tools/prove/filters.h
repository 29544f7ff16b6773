// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <string_view>

#include "functions.h"

// The functions in double, with the system's libm. A filter decides nearly all inputs: where everything within its error
// bound rounds to one number, that number is the correctly rounded result, and MPFR need not be asked.

namespace repdl::prove {

/// A filter is within this of the exact value, relatively; or both are beyond 2^200, or both below 2^-200 with one sign.
inline constexpr double kFilterBound = 0x1p-42;
/// What is found where it is checked; the two bits between are there for inputs that were not.
inline constexpr double kCheckedBound = 0x1p-44;

/// What a filter says where it has lost digits to cancellation.
inline constexpr double kAskMpfr = std::numeric_limits<double>::denorm_min();

struct Filter {
  std::string_view op;
  double (*unary)(double x);
  double (*binary)(double x, double y);
};

/// The filter of an op; throws if there is none.
const Filter& FindFilter(std::string_view op);

/// x rounded to nearest even, once.
float RoundTo(double x, const reference::Format& format);

/// Whether everything within the bound of `value` rounds to one number of the format, which `rounded` gets.
bool Decides(double value, const reference::Format& format, float& rounded);

/// The same for n values and float32, faster.
void DecideAll(const double* values, int64_t n, float* rounded, bool* decided);

/// Whether `value` is as near to the exact value as kCheckedBound says. `exact` has 64 bits or more.
bool IsWithinBound(double value, mpfr_srcptr exact);

}  // namespace repdl::prove
