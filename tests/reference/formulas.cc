// SPDX-License-Identifier: MIT
#include "formulas.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace repdl::reference {
namespace {

/// The constants of selu, which are decimal numbers.
const char* const kAlpha = "1.6732632423543772848170429916717";
const char* const kScale = "1.0507009873554804934193349852946";

/// Far beyond +-1000 the derivatives are what they are there, 0 or 1 to every format, from the same side.
Real Clamped(const Real& x) { return x < -1000 ? Real(-1000) : x > 1000 ? Real(1000) : x; }

/// x * share(x), for a share that falls to 0 on the left so fast that the product does too.
template <class Share>
Real Gated(const Real& x, Share share) {
  if (IsInfinite(x)) return IsNegative(x) ? Real(-0.0) : x;
  return x * share(x);
}

/// The argument of the logistic function in gelu_tanh: 2 sqrt(2 / pi) (x + 0.044715 x^3).
Real TwoU(const Real& x) { return 2 * Sqrt(2 / Pi()) * (x + Real("0.044715") * x * x * x); }

/// The normal distribution: the integral up to x.
Real NormalShare(const Real& x) { return Erfc(-x / Sqrt(2)) / 2; }

/// tanh(log(1 + e^x)).
Real MishShare(const Real& x) {
  if (x > 1000) return 1;
  const Real e = Exp(x);
  const Real n = e * (e + 2);
  return n / (n + 2);
}

/// I(x), or with is_scaled exp(-|x|) I(x). From 800 on, where I(x) is infinite to every format, by the asymptotic series,
/// whose terms fall below all bits; before by the power series.
Real ModifiedBessel(int order, const Real& x, bool is_scaled) {
  const Real a = Abs(x);
  if (IsInfinite(a)) return is_scaled ? Real(0.0) : a;
  if (a > 800 && !is_scaled) return a / 0;
  const double least = std::ldexp(1.0, -static_cast<int>(std::min<mpfr_prec_t>(Real::precision + 20, 1000)));
  Real term = 1, sum = 1;
  if (a > 800) {
    for (double k = 1; Abs(term) > least; ++k) {
      term = term * ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * a);
      sum = sum + term;
    }
    return sum / Sqrt(2 * Pi() * a);
  }
  for (double k = 1; term > sum * least; ++k) {
    term = term * (a * a / 4) / (k * (k + order));
    sum = sum + term;
  }
  if (is_scaled) sum = sum * Exp(-a);
  return order == 0 ? sum : sum * a / 2;
}

/// For as long as it lives, numbers have so many bits.
class WithBits {
 public:
  explicit WithBits(mpfr_prec_t bits) : before_(Real::precision) { Real::precision = bits; }
  ~WithBits() { Real::precision = before_; }
  WithBits(const WithBits&) = delete;
  WithBits& operator=(const WithBits&) = delete;

 private:
  mpfr_prec_t before_;
};

/// K(x), or with is_scaled exp(x) K(x): by the asymptotic series where its least term is below all bits, else by the power
/// series with as many bits more as cancel.
Real ModifiedBesselK(int order, const Real& x, bool is_scaled) {
  if (x < 0) return Real(0.0) / 0;
  if (x == 0) return Real(1) / 0;
  if (IsInfinite(x)) return 0.0;
  const auto bits = static_cast<double>(Real::precision);
  if (x > bits * 0.4) {
    const double least = std::ldexp(1.0, -static_cast<int>(std::min(bits + 20, 1000.0)));
    Real term = 1, sum = 1;
    for (double k = 1; Abs(term) > least; ++k) {
      term = term * (4 * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * x);
      sum = sum + term;
    }
    sum = sum * Sqrt(Pi() / (2 * x));
    return is_scaled ? sum : sum * Exp(-x);
  }
  const WithBits more(static_cast<mpfr_prec_t>(bits + 3 * mpfr_get_d(x.get(), MPFR_RNDU) + 64));
  const Real least = Real::Of(mpfr_set_ui_2exp, 1UL, static_cast<mpfr_exp_t>(-Real::precision));
  Real term = 1, sum = 1, harmonic = order / 2.0, beside = harmonic;
  for (double k = 1; term > least; ++k) {
    term = term * (x * x / 4) / (k * (k + order));
    harmonic = harmonic + (1 / Real(k) + 1 / Real(k + order)) / 2;
    sum = sum + term;
    beside = beside + term * harmonic;
  }
  Real y = beside - (Log(x / 2) + Real::Of(mpfr_const_euler)) * sum;
  if (order == 1) y = 1 / x - y * x / 2;
  return is_scaled ? y * Exp(x) : y;
}

/// The even and the odd terms of Hankel's asymptotic series of order 1/3, down to `least`: beside exp(-zeta) for the one sign,
/// or with alternating signs in each, beside a wave.
void HankelSums(const Real& zeta, const Real& least, bool is_wave, Real& even, Real& odd) {
  Real term = even = 1;
  odd = 0;
  for (int k = 1; Abs(term) > least; ++k) {
    const double last = 2.0 * k - 1;
    term = term * (4 - 9 * last * last) / (72.0 * k) / zeta;
    Real& sum = k % 2 == 0 ? even : odd;
    sum = is_wave && k % 4 > 1 ? sum - term : sum + term;
  }
}

/// exp(x^2) erfc(x) by its asymptotic series, for x from 30 on.
Real FarErfcx(const Real& x) {
  const double least = std::ldexp(1.0, -static_cast<int>(std::min<mpfr_prec_t>(Real::precision + 20, 1000)));
  Real term = 1, sum = 1;
  for (double k = 1; Abs(term) > least; ++k) {
    term = -(term * (2 * k - 1) / (2 * x * x));
    sum = sum + term;
  }
  return sum / (x * Sqrt(Pi()));
}

/// An odd function from one of numbers from 0 on, which is +0 at both zeros.
Real Odd(const Real& x, const Real& of_size) { return x < 0 ? -of_size : of_size; }

/// B(n) for an even n > 0: 2 n! zeta(n) / (2 pi)^n but for its sign.
Real Bernoulli(unsigned long n) {
  const Real factorial = Real::Of(mpfr_fac_ui, n), zeta = Real::Of(mpfr_zeta_ui, n);
  const Real size = 2 * factorial * zeta / Real::Of(mpfr_pow_ui, Real(2 * Pi()).get(), n);
  return n % 4 == 0 ? -size : size;
}

/// The sum of 1 / (x + k)^2 over k from 0, for x > 0: by Euler's and Maclaurin's formula from where its terms fall below
/// all bits.
Real SumOfInverseSquares(Real x) {
  static thread_local std::map<mpfr_prec_t, std::vector<Real>> numbers;
  std::vector<Real>& bernoulli = numbers[Real::precision];
  const auto bits = static_cast<int>(Real::precision);
  for (int k = static_cast<int>(bernoulli.size()) + 1; k <= bits / 5; ++k) bernoulli.push_back(Bernoulli(2UL * k));
  Real sum = 0;
  while (x < bits / 3.0) {
    sum = sum + 1 / (x * x);
    x = x + 1;
  }
  const Real over = 1 / x, square = over * over;
  sum = sum + over + square / 2;
  Real power = over * square;
  for (const Real& b : bernoulli) {
    sum = sum + b * power;
    power = power * square;
  }
  return sum;
}

/// The sum of (x + k)^-s over k from 0, for s > 1 and x > 0: by Euler's and Maclaurin's formula, unless the terms fall
/// below all bits before.
Real SumOfPowers(const Real& s, Real x) {
  static thread_local std::map<mpfr_prec_t, std::vector<Real>> numbers;
  std::vector<Real>& ratios = numbers[Real::precision];  // B(2 k) / (2 k)!
  const auto bits = static_cast<double>(Real::precision);
  for (unsigned long k = ratios.size() + 1; k <= bits / 5; ++k) {
    ratios.push_back(Bernoulli(2 * k) / Real::Of(mpfr_fac_ui, 2 * k));
  }
  const Real least = Real::Of(mpfr_set_ui_2exp, 1UL, static_cast<mpfr_exp_t>(-Real::precision));
  Real sum = 0;
  while (x < s + bits / 3) {
    const Real term = Real::Of(mpfr_pow, x.get(), Real(-s).get());
    sum = sum + term;
    if (!(term > sum * least)) return sum;  // also where both are 0, beyond the numbers of MPFR
    x = x + 1;
  }
  const Real square = 1 / (x * x);
  Real rest = x / (s - 1) + Real(0.5), product = s / x;
  double k = 1;
  for (const Real& ratio : ratios) {
    const Real term = ratio * product;
    rest = rest + term;
    if (Abs(term) < rest * least) break;
    product = product * (s + k) * (s + k + 1) * square;
    k += 2;
  }
  return sum + rest * Real::Of(mpfr_pow, x.get(), Real(-s).get());
}

}  // namespace

Real AiryAi(const Real& x) {
  if (IsInfinite(x)) return 0.0;
  const auto bits = static_cast<double>(Real::precision);
  const Real least = Real::Of(mpfr_set_ui_2exp, 1UL, static_cast<mpfr_exp_t>(-Real::precision - 20));
  // Of a wave the angle counts, less whole turns.
  const mpfr_exp_t before_point = x == 0 ? 0 : std::max<mpfr_exp_t>(mpfr_get_exp(x.get()), 0);
  const WithBits more(Real::precision + 64 + (IsNegative(x) ? before_point * 3 / 2 : 0));
  const Real root = Sqrt(Abs(x)), zeta = 2 * Abs(x) * root / 3;
  // The least term of the asymptotic series is about exp(-2 zeta).
  if (zeta < bits * 0.4) return Real::Of(mpfr_ai, x.get());
  Real even, odd;
  HankelSums(zeta, least, IsNegative(x), even, odd);
  const Real size = Sqrt(Pi() * root);
  if (!IsNegative(x)) return (even + odd) * Exp(-zeta) / (2 * size);
  const Real angle = zeta - Pi() / 4;
  return (even * Real::Of(mpfr_cos, angle.get()) - odd * Real::Of(mpfr_sin, angle.get())) / size;
}

Real I0(const Real& x) { return ModifiedBessel(0, x, false); }

Real I0e(const Real& x) { return ModifiedBessel(0, x, true); }

Real I1(const Real& x) { return Odd(x, ModifiedBessel(1, x, false)); }

Real I1e(const Real& x) { return Odd(x, ModifiedBessel(1, x, true)); }

Real ModifiedBesselK0(const Real& x) { return ModifiedBesselK(0, x, false); }

Real ModifiedBesselK1(const Real& x) { return ModifiedBesselK(1, x, false); }

Real ScaledModifiedBesselK0(const Real& x) { return ModifiedBesselK(0, x, true); }

Real ScaledModifiedBesselK1(const Real& x) { return ModifiedBesselK(1, x, true); }

Real SphericalBesselJ0(const Real& x) {
  if (IsInfinite(x)) return 0.0;
  return x == 0 ? Real(1) : Real::Of(mpfr_sin, x.get()) / x;
}

Real Erfcx(const Real& x) {
  if (IsInfinite(x)) return IsNegative(x) ? -x : Real(0.0);
  if (x < -1000) return Real(1) / 0;
  return x > 30 ? FarErfcx(x) : Exp(x * x) * Erfc(x);
}

Real LogNdtr(const Real& x) {
  if (IsInfinite(x)) return IsNegative(x) ? x : Real(-0.0);
  const Real y = Abs(x) / Sqrt(2);
  if (!IsNegative(x)) return Log1p(-Erfc(y) / 2);
  return y > 30 ? Log(FarErfcx(y) / 2) - x * x / 2 : Log(Erfc(y) / 2);
}

Real Ndtri(const Real& p) {
  if (p < 0 || p > 1) return Real(std::nan(""));
  if (p == 0 || p == 1) return (p - 0.5) / 0;
  const Real q = p > 0.5 ? 1 - p : p;
  if (q == 0.5) return 0.0;
  // The quantile is of moderate size and loses at most 53 bits next to 1/2.
  const WithBits enough(std::min<mpfr_prec_t>(Real::precision, 320) + 64);
  // Newton's method for the logarithm of the tail, which is concave: it comes down from above the root; first in few bits.
  Real y = Sqrt(-2 * Log(q));
  const auto improve = [&] {
    const Real tail = Erfc(y / Sqrt(2)) / 2;
    const Real step = (Log(tail) - Log(q)) * tail * Sqrt(2 * Pi()) * Exp(y * y / 2);
    y = y + step;
    return Abs(step) < y * 0x1p-25;
  };
  {
    const WithBits few(80);
    for (int i = 0; i < 30 && !improve(); ++i) continue;
  }
  for (int i = 0; i < 4; ++i) improve();
  return p > 0.5 ? y : -y;
}

Real Trigamma(const Real& x) {
  const Real a = Abs(x), infinity = Real(1) / 0;
  if (a == 0) return infinity;
  if (IsInfinite(x)) return IsNegative(x) ? x - x : Real(0.0);
  if (a < 0x1p-100) return 1 / (x * x) + Pi() * Pi() / 6;  // what follows does not show
  if (a > 0x1p500) return IsNegative(x) ? infinity : 1 / a;
  if (!IsNegative(x)) return SumOfInverseSquares(x);
  const Real f = a - Real::Of(mpfr_rint, a.get());
  if (f == 0) return infinity;
  const Real ratio = Pi() / Real::Of(mpfr_sin, Real(Pi() * f).get());
  return ratio * ratio + 1 / (a * a) - SumOfInverseSquares(a);
}

Real Elu(const Real& x) { return x > 0 ? x : Expm1(x); }

Real Entr(const Real& x) {
  if (x < 0) return -1 / Real(0.0);
  return x == 0 ? 0 : -(x * Log(x));
}

Real Erfinv(const Real& x) {
  const Real a = Abs(x);
  if (a > 1) return Real(std::nan(""));
  if (a == 1) return x / 0;
  if (a == 0) return x;
  // Newton's method for erfc(y) = 1 - a or, so that little numbers lose nothing, erf(y) = a. From 0 it climbs without
  // overshooting, since erf is concave; once it no longer climbs the error is in the last bits.
  const bool tail = a > 0.5;
  const Real q = 1 - a;
  const Real factor = Sqrt(Pi()) / 2;
  Real y = 0;
  for (int i = 0; i < 100; ++i) {
    const Real error = tail ? Erfc(y) - q : a - Erf(y);
    const Real next = y + factor * error * Exp(y * y);
    const bool done = !(next > y + y * Real(0x1p-200));
    y = next;
    if (done) break;
  }
  return IsNegative(x) ? -y : y;
}

Real Gelu(const Real& x) { return Gated(x, NormalShare); }

Real GeluTanh(const Real& x) {
  return Gated(x, [](const Real& t) { return Sigmoid(TwoU(t)); });
}

Real Logit(const Real& x) { return Log(x / (1 - x)); }

Real LogSigmoid(const Real& x) { return IsNegative(x) ? x - Log1p(Exp(x)) : -Log1p(Exp(-x)); }

Real Mish(const Real& x) { return Gated(x, MishShare); }

Real Reciprocal(const Real& x) { return 1 / x; }

// Of -0 it is -inf, as in C23; mpfr_rec_sqrt says +inf.
Real Rsqrt(const Real& x) { return 1 / Sqrt(x); }

Real Selu(const Real& x) { return Real(kScale) * (x > 0 ? x : Real(kAlpha) * Expm1(x)); }

Real Sigmoid(const Real& x) { return 1 / (1 + Exp(-x)); }

Real Silu(const Real& x) { return Gated(x, Sigmoid); }

Real Sinc(const Real& x) {
  if (x == 0) return 1;
  return Real::Of(mpfr_sinpi, x.get()) / (Pi() * x);
}

Real Softplus(const Real& x) { return x > 20 ? x : Log1p(Exp(x)); }

Real Softsign(const Real& x) {
  if (IsInfinite(x)) return IsNegative(x) ? -1 : 1;
  return x / (1 + Abs(x));
}

Real EluDerivative(const Real& x) { return x > 0 ? 1 : Exp(x); }

Real GeluDerivative(const Real& x) {
  const Real t = Clamped(x);
  return NormalShare(t) + t * Exp(-t * t / 2) / Sqrt(2 * Pi());
}

Real GeluTanhDerivative(const Real& x) {
  const Real t = Clamped(x);
  const Real two_u = TwoU(t);
  const Real slope = 2 * Sqrt(2 / Pi()) * (1 + 3 * Real("0.044715") * t * t);
  return Sigmoid(two_u) * (1 + t * slope * Sigmoid(-two_u));
}

Real LogSigmoidDerivative(const Real& x) { return Sigmoid(-x); }

Real MishDerivative(const Real& x) {
  const Real t = Clamped(x);
  const Real e = Exp(t);
  const Real d = e * (e + 2) + 2;
  return e * (e + 2) / d + 4 * t * e * (e + 1) / (d * d);
}

Real SeluDerivative(const Real& x) { return Real(kScale) * (x > 0 ? Real(1) : Real(kAlpha) * Exp(x)); }

Real SiluDerivative(const Real& x) {
  const Real t = Clamped(x);
  return Sigmoid(t) * (1 + t * Sigmoid(-t));
}

Real SoftplusDerivative(const Real& x) { return x > 20 ? Real(1) : Sigmoid(x); }

Real SoftsignDerivative(const Real& x) {
  const Real d = 1 + Abs(x);
  return 1 / (d * d);
}

Real LogAddExp(const Real& x, const Real& y) {
  if (x == y) return x + Log(2);
  return (x > y ? x : y) + Log1p(Exp(-Abs(x - y)));
}

Real LogAddExp2(const Real& x, const Real& y) {
  if (x == y) return x + 1;
  return (x > y ? x : y) + Log1p(Real::Of(mpfr_exp2, Real(-Abs(x - y)).get())) / Log(2);
}

Real Polygamma(const Real& n, const Real& x) {
  const auto order = static_cast<unsigned long>(n < 1 || n > 170 ? 0 : mpfr_get_ui(n.get(), MPFR_RNDN));
  if (order == 0 || !(n == static_cast<double>(order)) || (IsInfinite(x) && IsNegative(x))) return Real(0.0) / 0;
  const Real size = Real::Of(mpfr_fac_ui, order) * Zeta(n + 1, x);
  return order % 2 == 0 ? -size : size;
}

Real Zeta(const Real& s, const Real& q) {
  const Real infinity = Real(1) / 0;
  const bool is_whole = IsInfinite(q) || mpfr_integer_p(q.get()) != 0;
  if (s < 1) return infinity - infinity;
  if (s == 1) return infinity;
  if (IsInfinite(q) && !IsNegative(q)) return 0.0;
  if (IsInfinite(s)) return q > 1 ? Real(0.0) : q == 1 ? Real(1) : infinity;
  if (!(q > 0) && is_whole) return infinity;
  if (q < 0 && mpfr_integer_p(s.get()) == 0) return infinity - infinity;
  // The second term may be so much smaller than a first one that is a midpoint.
  const WithBits enough(s > 200 || q > 0x1p200 ? 1000 : Real::precision);
  if (q > 0) return SumOfPowers(s, q);
  const Real y = q - Real::Of(mpfr_rint_trunc, q.get());
  const bool is_odd = mpfr_integer_p(Real(s / 2).get()) == 0;
  // At a half integer the first two may cancel to nothing, and what is beyond is all there is.
  const Real above = SumOfPowers(s, 1 + y), below = SumOfPowers(s, -y), beyond = SumOfPowers(s, 1 - q);
  return is_odd ? (above - below) + beyond : (above + below) - beyond;
}

Real Xlog1py(const Real& x, const Real& y) {
  if (x == 0) return 0;
  return x * Log1p(y);
}

Real Xlogy(const Real& x, const Real& y) {
  if (x == 0) return 0;
  return x * Log(y);
}

}  // namespace repdl::reference
