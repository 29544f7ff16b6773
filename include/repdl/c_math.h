// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace repdl {

/// A function of the C library's <math.h>, by its name and as C declares it: `double exp(double)`.
struct CFunction {
  const char* name;
  void* address;
};

/// Those of doubles that are ops too, and `sincos`, which compilers make of two. Each gives the bits that the op gives of
/// float64, whatever floating-point modes the thread has, and sets errno as C says: to EDOM where the function has no value,
/// to ERANGE where it has a pole or overflows. A result that underflows leaves it alone, which C allows.
std::span<const CFunction> CFunctions();

}  // namespace repdl
