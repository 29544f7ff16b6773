// SPDX-License-Identifier: MIT
#pragma once

namespace repdl {

/// a * b + c, rounded once, in integers: for every double, on every machine. Vectors without an instruction for it take
/// this way where a step of the fast one could overflow or underflow.
double FmaInIntegers(double a, double b, double c);

}  // namespace repdl
