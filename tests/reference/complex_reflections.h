// SPDX-License-Identifier: MIT
// What the references of complex eigenvalues and singular values share: scales, reflections and inner products.
#pragma once

#include "eigen.h"
#include "sweeps.h"

namespace repdl::reference {

/// The exponent of the power of 2 above all parts; false where one is not finite.
inline bool FindExponent(const Grid& a, int& exponent) {
  double largest = 0;
  for (const Complex& x : a.at) {
    if (!std::isfinite(x.re) || !std::isfinite(x.im)) return false;
    largest = std::max({largest, std::fabs(x.re), std::fabs(x.im)});
  }
  std::frexp(largest, &exponent);
  return true;
}

inline void ScaleDown(Grid& a, int exponent) {
  const int half = static_cast<int>(std::floor(exponent / 2.0));
  const auto scaled = [&](double x) { return std::ldexp(std::ldexp(x, -half), half - exponent); };
  for (Complex& x : a.at) x = {scaled(x.re), scaled(x.im)};
}

struct Reflection {
  Pairs v;  // as long as the vectors that are reflected
  Complex tau;
  int64_t first;
  double result;
};

/// That of the numbers of x from `first` on.
inline Reflection ReflectionOf(const Pairs& x, int64_t first) {
  const Complex head = x[first];
  Reflection r{Pairs(x.size()), {0, 0}, first, head.re};
  double squares = 0;
  for (size_t i = first + 1; i < x.size(); ++i) {
    squares = std::fma(x[i].im, x[i].im, std::fma(x[i].re, x[i].re, squares));
  }
  squares = std::fma(head.im, head.im, squares);
  if (squares <= kTiny * kTiny) return r;
  const double size = std::sqrt(std::fma(head.re, head.re, squares));
  r.result = head.re < 0 ? size : -size;
  r.tau = {(r.result - head.re) / r.result, -(head.im / r.result)};
  for (size_t i = first + 1; i < x.size(); ++i) r.v[i] = Over(x[i], {head.re - r.result, head.im});
  r.v[first] = {1, 0};
  return r;
}

/// x becomes H x, or Hᴴ x.
inline void Apply(const Reflection& r, bool adjoint, Pairs& x) {
  if (IsZero(r.tau)) return;
  Complex w = x[r.first];
  for (size_t i = r.first + 1; i < x.size(); ++i) w = Less(w, {-r.v[i].re, r.v[i].im}, x[i]);
  const Complex t = Times(adjoint ? Conjugate(r.tau) : r.tau, w);
  x[r.first] = Minus(x[r.first], t);
  for (size_t i = r.first + 1; i < x.size(); ++i) x[i] = Less(x[i], r.v[i], t);
}

/// Of the numbers of a row from `first` on and of v, in 16 lanes.
inline Complex Inner(const Grid& a, int64_t row, const Pairs& v, int64_t first) {
  Complex lane[16] = {};
  for (int64_t j = first; j < a.columns; ++j) {
    const Complex x = a.at[row * a.columns + j];
    Complex& sum = lane[(j - first) % 16];
    sum = Less(sum, {-x.re, -x.im}, v[j]);
  }
  for (int h = 8; h >= 1; h /= 2) {
    for (int j = 0; j < h; ++j) lane[j] = {lane[j].re + lane[j + h].re, lane[j].im + lane[j + h].im};
  }
  return lane[0];
}

}  // namespace repdl::reference
