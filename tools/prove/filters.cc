// SPDX-License-Identifier: MIT
#include "filters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "repdl/error.h"

namespace repdl::prove {
namespace {

using std::numbers::inv_sqrtpi;
using std::numbers::pi;
using std::numbers::sqrt2;

constexpr double kAlpha = 1.6732632423543772848170429916717;
constexpr double kScale = 1.0507009873554804934193349852946;

/// x within +-limit; NaN stays.
double Capped(double x, double limit) { return std::clamp(x, -limit, limit); }

/// a + b where that loses few digits.
double SumUnlessCancelled(double a, double b) {
  const double sum = a + b;
  return std::fabs(sum) < std::max(std::fabs(a), std::fabs(b)) / 64 ? kAskMpfr : sum;
}

double Elu(double x) { return x > 0 ? x : std::expm1(x); }
double EluDerivative(double x) { return x > 0 ? 1 : std::exp(Capped(x, 700)); }

double Sinpi(double x) {
  double r = x - 2 * std::nearbyint(x / 2);  // exact
  if (std::fabs(r) > 0.5) r = std::copysign(1.0, r) - r;
  return r == 0 ? std::copysign(0.0, x) : std::sin(pi * r);
}

double Sinc(double x) {
  if (x == 0) return 1;
  return x == std::floor(x) && !std::isinf(x) ? 0 : Sinpi(x) / (pi * x);
}

double Cospi(double x) {
  const double r = std::fabs(x - 2 * std::nearbyint(x / 2));  // exact
  if (r <= 0.25) return std::cos(pi * r);
  return r < 0.75 ? std::sin(pi * (0.5 - r)) : -std::cos(pi * (1 - r));
}

/// Winitzki's estimate, good to 2^-8, and two steps of Halley's method, each of which triples the digits.
double Erfinv(double x) {
  const double a = std::fabs(x);
  if (!(a > 0 && a < 1)) return a > 1 ? std::numeric_limits<double>::quiet_NaN() : x / (1 - a);
  constexpr double kShape = 0.147;
  const double l = std::log1p(-a * a);
  const double b = 2 / (pi * kShape) + l / 2;
  // For small a the root is sqrt(pi) / 2 * a, which the estimate would lose to cancellation.
  double y = a < 0x1p-10 ? a / 2 / inv_sqrtpi : std::sqrt(std::sqrt(b * b - l / kShape) - b);
  for (int i = 0; i < 2; ++i) {
    const double error = a > 0.5 ? (1 - a) - std::erfc(y) : std::erf(y) - a;
    const double step = error / 2 / inv_sqrtpi * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-Capped(x, 700))); }

double Silu(double x) { return x < -700 ? -700 * Sigmoid(-700) : x * Sigmoid(x); }

/// In the tails long double, since they are as much worse than their arguments as those are large.
double NormalShare(double x) {
  if (x < -2) return static_cast<double>(std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2);
  return std::erfc(-x / sqrt2) / 2;
}

double Gelu(double x) { return x < -20 ? -20 * NormalShare(-20) : x * NormalShare(x); }

const long double kSlope = 2 * std::sqrt(2 / std::numbers::pi_v<long double>);

/// The logistic function of 2 sqrt(2 / pi) (x + 0.044715 x^3).
template <class Float>
Float TanhShare(Float x) {
  return 1 / (1 + std::exp(-static_cast<Float>(kSlope) * (x + static_cast<Float>(0.044715L) * x * x * x)));
}

double GeluTanh(double x) {
  x = x < -16 ? -16 : x;
  return x * (x < -1 ? static_cast<double>(TanhShare<long double>(x)) : TanhShare(x));
}

double MishShare(double x) {
  if (x > 150) return 1;
  const double e = std::exp(x);
  const double n = e * (e + 2);
  return n / (n + 2);
}

double Mish(double x) { return x < -150 ? -150 * MishShare(-150) : x * MishShare(x); }

double SiluDerivative(double x) { return SumUnlessCancelled(Sigmoid(x), x * Sigmoid(x) * Sigmoid(-x)); }

double GeluDerivative(double x) {
  return SumUnlessCancelled(NormalShare(x), x * std::exp(-x * x / 2) * inv_sqrtpi / sqrt2);
}

double GeluTanhDerivative(double x) {
  const long double s = TanhShare<long double>(x);
  const long double slope = kSlope * (1 + 3 * 0.044715L * x * x);
  return SumUnlessCancelled(static_cast<double>(s), static_cast<double>(x * slope * s * TanhShare<long double>(-x)));
}

double MishDerivative(double x) {
  const double e = std::exp(x);
  const double d = e * (e + 2) + 2;
  return SumUnlessCancelled(MishShare(x), 4 * x * (e / d) * ((e + 1) / d));
}

double LogAddExp(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return std::isinf(x) ? x : SumUnlessCancelled(x, std::numbers::ln2);
  return SumUnlessCancelled(std::max(x, y), std::log1p(std::exp(-std::min(700.0, std::fabs(x - y)))));
}

double LogAddExp2(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return x + 1;
  const double size = std::min(1000.0, std::fabs(x - y));
  return SumUnlessCancelled(std::max(x, y), std::log1p(std::exp2(-size)) / std::numbers::ln2);
}

double Logit(double x) {
  if (x > 0.25 && x < 0.75) return std::log1p((2 * x - 1) / (1 - x));
  return std::log(x / (1 - x));
}

double Lgamma(double x) {
  int sign;  // the other function writes it into a variable of all threads
  return ::lgamma_r(x, &sign);
}

/// By the first terms of its asymptotic series, from 12 on.
double Digamma(double x) {
  if (x == 0 || std::isinf(x)) return x < 0 ? std::numeric_limits<double>::quiet_NaN() : x == 0 ? -1 / x : x;
  const double size = std::fabs(x);
  if (x < 0 && size == std::floor(size)) return std::numeric_limits<double>::quiet_NaN();
  double y = size, sum = 0;
  for (; y < 12; ++y) sum += 1 / y;
  const double z = 1 / (y * y);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z / 47.4)))));
  const double above = SumUnlessCancelled(std::log(y) - 0.5 / y - series, -sum);
  if (!(x < 0) || above == kAskMpfr) return above;
  const double cotangent = pi * Cospi(size) / Sinpi(size), mirrored = above + 1 / size + cotangent;
  // Several of these terms may cancel each other, each a part of the digits.
  return std::fabs(mirrored) < std::max({y, sum, std::fabs(cotangent)}) / 64 ? kAskMpfr : mirrored;
}

double Trigamma(double x) {
  const double size = std::fabs(x);
  if (std::isinf(x)) return x > 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || (x < 0 && size == std::floor(size))) return HUGE_VAL;
  double y = size, sum = 0;
  for (; y < 12; ++y) sum += 1 / (y * y);
  const double r = 1 / y, z = r * r;
  const double series = z * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z / 3.95)))));
  const double above = sum + r * (1 + r / 2 + series);
  const double sine = Sinpi(size);
  return x < 0 ? SumUnlessCancelled(pi * pi / (sine * sine) + 1 / (size * size), -above) : above;
}

/// By the series that the accurate step has, too.
double ModifiedBessel(int order, double x, bool is_scaled) {
  const double a = std::fabs(x);
  if (std::isnan(x)) return x;
  double term = 1, sum = 1;
  if (a < 60) {
    for (double k = 1; term > sum * 0x1p-60; ++k) {
      term *= a * a / 4 / (k * (k + order));
      sum += term;
    }
    sum *= (order == 0 ? 1 : a / 2) * (is_scaled ? std::exp(-a) : 1);
  } else if (std::isinf(a)) {
    sum = is_scaled ? 0 : a;
  } else {
    for (double k = 1; std::fabs(term) > 0x1p-60; ++k) {
      term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * a);
      sum += term;
    }
    sum *= (is_scaled ? 1 : std::exp(Capped(a, 700))) / std::sqrt(2 * pi * a);
  }
  return order == 1 && x < 0 ? -sum : sum;
}

/// sqrt(2 x / pi) exp(x) K(x), by the trapezoidal rule for the integral of exp(-x (cosh t - 1)) cosh(order t), which is exact
/// but for rounding.
double ModifiedBesselK(double order, double x, bool is_scaled) {
  if (!(x > 0)) return x == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(x)) return 0;
  const double width = 2 * std::asinh(std::sqrt(22.5 / x)) / 500;  // where the integrand is exp(-45)
  double sum = 0.5;
  for (int i = 1; i <= 500; ++i) {
    const double sine = std::sinh(i * width / 2);
    sum += std::exp(-2 * x * sine * sine) * (order == 0 ? 1 : std::cosh(order * i * width));
  }
  return sum * width * (is_scaled ? 1 : std::exp(-Capped(x, 700)));
}

/// By its power series from -2 to 1; below left to MPFR; above a Bessel function K.
double Airy(double x) {
  if (!(x > -2)) return std::isinf(x) ? 0 : std::isnan(x) ? x : kAskMpfr;
  if (std::isinf(x)) return 0;
  if (x < 1) {
    double value = 0.35502805388781723926, slope = -0.25881940379280679841 * x, sum = value + slope;
    for (int k = 3; k < 60; k += 3) {
      value *= x * x * x / (k * (k - 1));
      slope *= x * x * x / (k * (k + 1));
      sum += value + slope;
    }
    return sum;
  }
  const double root = std::sqrt(x), zeta = 2 * x * root / 3;
  // what the rounding of zeta leaves: exp(-zeta) would lose its size in digits
  const double root_rest = std::fma(-root, root, x) / (2 * root), product = 2 * x * root;
  const double rest = (std::fma(2 * x, root, -product) + std::fma(-3, zeta, product) + 2 * x * root_rest) / 3;
  return std::sqrt(x / 3) / pi * ModifiedBesselK(1.0 / 3, zeta, false) * (1 - Capped(rest, 1));
}

/// Left to MPFR where it is small beside its ordinary size, and where the C library's may not be good.
double BesselJ(int order, double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return order == 1 && x < 0 ? -0.0 : 0.0;
  const double y = order == 0 ? ::j0(x) : ::j1(x), a = std::fabs(x);
  if (a > 0x1p20 || (a > 1 && std::fabs(y) * std::sqrt(a) < 0x1p-3)) return kAskMpfr;
  return y;
}

double BesselY(int order, double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || std::isinf(x)) return x == 0 ? -HUGE_VAL : 0;
  const double y = order == 0 ? ::y0(x) : ::y1(x);
  if (x > 0x1p20 || (x > 0.25 && std::fabs(y) * std::sqrt(x) < 0x1p-3)) return kAskMpfr;
  return y;
}

double Erfcx(double x) {
  if (x < 5) return std::exp(Capped(x * x, 700)) * std::erfc(x);
  const double z = 1 / (x * x);
  double fraction = 0;
  for (int k = 100; k > 0; --k) fraction = k / 2.0 / (x + fraction);
  return std::isinf(z) ? kAskMpfr : inv_sqrtpi / (x + fraction);
}

double LogNdtr(double x) {
  const double y = std::fabs(x) / sqrt2;
  if (x > 0) return std::log1p(-std::erfc(y) / 2);
  return y < 1 ? std::log(std::erfc(y) / 2) : std::log(Erfcx(y) / 2) - x * x / 2;
}

/// By Newton's steps for the logarithm where p is small: it is concave, so that they come from below.
double Ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -HUGE_VAL : p == 1 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  if (p > 0.05) return sqrt2 * Erfinv(2 * p - 1);  // exact for floats
  double x = -std::sqrt(-2 * std::log(p));
  for (int i = 0; i < 6; ++i) x += (std::log(p) - LogNdtr(x)) * Erfcx(-x / sqrt2) * std::sqrt(pi / 2);
  return x;
}

constexpr Filter kFilters[] = {
#define UNARY(op, ...) {#op, [](double x) -> double { return __VA_ARGS__; }, nullptr},
#define BINARY(op, ...) {#op, nullptr, [](double x, double y) -> double { return __VA_ARGS__; }},
#include "filters.def"
#undef UNARY
#undef BINARY
};

}  // namespace

const Filter& FindFilter(std::string_view op) {
  for (const Filter& filter : kFilters) {
    if (filter.op == op) return filter;
  }
  throw ValueError(Message("there is no filter of '", op, "' in filters.def"));
}

float RoundTo(double x, const reference::Format& format) {
  if (format.precision == reference::kFloat32.precision) return static_cast<float>(x);
  if (x == 0 || !std::isfinite(x)) return static_cast<float>(x);
  int exponent;
  std::frexp(x, &exponent);
  const int last = static_cast<int>(std::max<mpfr_exp_t>(exponent - format.precision, format.emin - 1));
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
  const double limit = std::ldexp(1.0, static_cast<int>(format.emax));
  return static_cast<float>(std::fabs(rounded) < limit ? rounded : std::copysign(HUGE_VAL, x));
}

void DecideAll(const double* values, int64_t n, float* rounded, bool* decided) {
  for (int64_t i = 0; i < n; ++i) {
    const double value = values[i], error = std::fabs(value) * kFilterBound;
    const auto low = static_cast<float>(value - error), high = static_cast<float>(value + error);
    rounded[i] = high;
    decided[i] = std::bit_cast<uint32_t>(low) == std::bit_cast<uint32_t>(high) && value != kAskMpfr;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!decided[i]) decided[i] = Decides(values[i], reference::kFloat32, rounded[i]);
  }
}

bool Decides(double value, const reference::Format& format, float& rounded) {
  rounded = RoundTo(value * (1 - kFilterBound), format);
  const float other = RoundTo(value * (1 + kFilterBound), format);
  return value != kAskMpfr && (std::isnan(value) || std::bit_cast<uint32_t>(rounded) == std::bit_cast<uint32_t>(other));
}

bool IsWithinBound(double value, mpfr_srcptr exact) {
  if (value == kAskMpfr) return true;
  if (std::isnan(value) || mpfr_nan_p(exact) != 0) return std::isnan(value) && mpfr_nan_p(exact) != 0;
  if (std::signbit(value) != (mpfr_signbit(exact) != 0)) return false;
  if (mpfr_inf_p(exact) != 0 || mpfr_cmpabs_ui(exact, 0) == 0) {
    return mpfr_inf_p(exact) != 0 ? std::fabs(value) > 0x1p200 : std::fabs(value) < 0x1p-200;
  }
  const mpfr_exp_t exponent = mpfr_get_exp(exact);
  if (exponent > 200) return std::fabs(value) >= 0x1p199;
  if (exponent < -200) return std::fabs(value) < 0x1p-200;
  if (value == 0 || std::isinf(value)) return false;
  mpfr_t error, bound;
  mpfr_inits2(64, error, bound, nullptr);
  mpfr_sub_d(error, exact, value, MPFR_RNDA);
  mpfr_mul_d(bound, exact, kCheckedBound, MPFR_RNDZ);
  const bool within = mpfr_cmpabs(error, bound) <= 0;
  mpfr_clears(error, bound, nullptr);
  return within;
}

}  // namespace repdl::prove
