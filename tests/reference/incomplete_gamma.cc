// SPDX-License-Identifier: MIT
#include "incomplete_gamma.h"

#include <cmath>
#include <limits>
#include <utility>

#include "formulas.h"

namespace repdl::reference {
namespace {

constexpr int kRows = 10, kColumns = 18;
constexpr double kTwoPi = 6.283185307179586;

/// Rounded once. Twice as many digits as a double needs, after all that cancel, leave none of the results undecided.
double Nearest(const Real& x) { return mpfr_get_d(x.get(), MPFR_RNDN); }

/// The coefficients of 1 / gamma*(a) in 1 / a: the exponential of Stirling's series with the other sign.
std::vector<Real> OverGammaStar(int count) {
  std::vector<Real> exponents(count, Real(0.0)), g = {Real(1)};
  for (unsigned long k = 1; 2 * static_cast<int>(k) - 1 < count; ++k) {
    const Real factorial = Real::Of(mpfr_fac_ui, 2 * k), zeta = Real::Of(mpfr_zeta_ui, 2 * k);
    const Real bernoulli = 2 * factorial * zeta / Real::Of(mpfr_pow_ui, Real(2 * Pi()).get(), 2 * k);
    const Real term = bernoulli / static_cast<double>(2 * k * (2 * k - 1));
    exponents[2 * k - 1] = k % 2 == 0 ? term : -term;
  }
  for (int n = 1; n < count; ++n) {
    Real sum = 0.0;
    for (int j = 1; j <= n; ++j) sum = sum + j * exponents[j] * g[n - j];
    g.push_back(sum / n);
  }
  return g;
}

/// d(k, n), by DLMF 8.12.11 and 8.12.12; alpha are the coefficients of x / a - 1 in eta.
std::vector<std::vector<Real>> TemmeCoefficients() {
  const int count = kColumns + 2 * kRows + 2;
  std::vector<Real> alpha = {Real(0.0), Real(1)};
  for (int n = 2; n < count; ++n) {
    Real rest = 0.0;
    for (int k = 2; k < n; ++k) rest = rest + k * alpha[k] * alpha[n + 1 - k];
    alpha.push_back((alpha[n - 1] - rest) / (n + 1));
  }
  const std::vector<Real> g = OverGammaStar(kRows);
  std::vector<std::vector<Real>> rows(1);
  rows[0].push_back(-1 / Real(3));
  for (int n = 1; n + 2 < count; ++n) rows[0].push_back((n + 2) * alpha[n + 2]);
  for (int k = 1; k < kRows; ++k) {
    const std::vector<Real> above = rows.back();
    std::vector<Real> row;
    for (int n = 0; n + 2 < static_cast<int>(above.size()); ++n)
      row.push_back(g[k] * rows[0][n] + (n + 2) * above[n + 2]);
    rows.push_back(row);
  }
  return rows;
}

std::vector<double> Nearest(const std::vector<Real>& numbers, int count) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(Nearest(numbers[i]));
  return result;
}

double Polynomial(const std::vector<double>& coefficients, double x) {
  double result = coefficients.back();
  for (size_t i = coefficients.size() - 1; i-- > 0;) result = std::fma(result, x, coefficients[i]);
  return result;
}

/// h.
Real Distance(double a, double x) {
  const Real u = (Real(x) - Real(a)) / a;
  return u - Log1p(u);
}

/// Of numbers beside which 1 + a is 1, by the first terms of the power series.
Real LogGammaOfNext(double a) {
  if (a > 0x1p-60) return Real::Of(mpfr_lngamma, Real(1 + Real(a)).get());
  const Real zeta2 = Real::Of(mpfr_zeta_ui, 2UL), zeta3 = Real::Of(mpfr_zeta_ui, 3UL);
  return ((Real(a) * zeta3 / -3 + zeta2 / 2) * a - Real::Of(mpfr_const_euler)) * a;
}

/// P and Q.
std::pair<double, double> NearExpansion(double a, double x) {
  static const std::vector<std::vector<double>> coefficients = TemmeRows();
  const Real exponent = a * Distance(a, x);
  const double y = Nearest(Sqrt(exponent)), e = Nearest(Exp(-exponent)), c = Nearest(Erfcx(y)) * 0.5;
  const double size = y * std::sqrt(2 / a), eta = x < a ? -size : size;
  std::vector<double> sums;
  for (const std::vector<double>& row : coefficients) sums.push_back(Polynomial(row, eta));
  const double m = Polynomial(sums, 1 / a) / std::sqrt(a * kTwoPi);
  if (x < a) {
    const double p = e * (c - m);
    return {p, 1 - p};
  }
  const double q = e * (c + m);
  return {1 - q, q};
}

double Front(double a, double x) {
  if (a < 32) return Nearest(Exp(a * Log(x) - x - LogGammaOfNext(a)));
  static const std::vector<double> over_gamma_star = OverGammaStarRow();
  const double e = Nearest(Exp(-(a * Distance(a, x)))), p = Polynomial(over_gamma_star, 1 / a);
  return e * p / std::sqrt(a * kTwoPi);
}

double PowerSeries(double a, double x) {
  double sum = 1, term = 1, n = a;
  do {
    n = n + 1;
    term = term * (x / n);
    sum = sum + term;
  } while (term > 0x1p-54 * sum);
  return sum;
}

double Fraction(double a, double x) {
  double b = x + 1 - a;
  double inverse = 1 / b, step = inverse, sum = inverse;
  for (double i = 1;; ++i) {
    const double v = (a - i) * i * inverse;
    b = b + 2;
    inverse = 1 / (v + b);
    step = -(step * (v * inverse));
    sum = sum + step;
    if (!(std::abs(step) > 0x1p-54 * sum)) return sum;
  }
}

std::pair<double, double> Both(double a, double x) {
  if (a >= 32 && std::abs(x - a) < a * 0.4) return NearExpansion(a, x);
  if (a >= 0x1p14) return x < a ? std::pair(0.0, 1.0) : std::pair(1.0, 0.0);
  if (x < 1.1 && a < 1.25) {
    const double g = Nearest(Expm1(a * Log(x) - LogGammaOfNext(a)));
    if (x < 0.5 ? g >= -1.0 / 3 : a <= x * 1.1) {
      double s = 1 / (a + 20);
      for (int n = 19; n > 0; --n) s = std::fma(-(x * (1.0 / (n + 1))), s, 1 / (a + n));
      const double q = std::fma((g + 1) * (a * x), s, -g);
      return {1 - q, q};
    }
  }
  const double f = Front(a, x);
  if (x < a || x < 1.1) {
    const double p = f * PowerSeries(a, x);
    return {p, 1 - p};
  }
  const double q = f * a * Fraction(a, x);
  return {1 - q, q};
}

}  // namespace

std::vector<std::vector<double>> TemmeRows() {
  std::vector<std::vector<double>> rows;
  for (const std::vector<Real>& row : TemmeCoefficients()) rows.push_back(Nearest(row, kColumns));
  return rows;
}

std::vector<double> OverGammaStarRow() { return Nearest(OverGammaStar(kRows), kRows); }

double IncompleteGamma(double a, double x, bool is_upper) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == infinity && x == infinity))
    return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || a == infinity) return is_upper ? 1 : 0;
  if (a == 0 || x == infinity) return is_upper ? 0 : 1;
  const auto [p, q] = Both(a, x);
  return is_upper ? q : p;
}

}  // namespace repdl::reference
