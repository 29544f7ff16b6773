// SPDX-License-Identifier: MIT
// Complex numbers as pairs of doubles, by the formulas of complex_mul and complex_div.
#pragma once

#include <cmath>

namespace repdl::reference {

struct Complex {
  double re = 0, im = 0;
};

inline Complex Minus(Complex x, Complex y) { return {x.re - y.re, x.im - y.im}; }
inline Complex Conjugate(Complex x) { return {x.re, -x.im}; }

inline Complex Times(Complex x, Complex y) {
  const double ac = x.re * y.re, bd = x.im * y.im, ad = x.re * y.im, bc = x.im * y.re;
  return {ac - bd, ad + bc};
}

inline Complex Over(Complex x, Complex y) {
  if (std::fabs(y.re) < std::fabs(y.im)) {
    const double r = y.re / y.im, cr = y.re * r, e = y.im + cr, ar = x.re * r, br = x.im * r;
    return {(ar + x.im) / e, -(x.re - br) / e};
  }
  if (y.re == 0) return {x.re / 0.0, x.im / 0.0};
  const double r = y.im / y.re, dr = y.im * r, e = y.re + dr, ar = x.re * r, br = x.im * r;
  return {(x.re + br) / e, (x.im - ar) / e};
}

/// The sum of the sizes of the parts.
inline double Size(Complex x) { return std::fabs(x.re) + std::fabs(x.im); }

}  // namespace repdl::reference
