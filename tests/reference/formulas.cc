// SPDX-License-Identifier: MIT
#include "formulas.h"

#include <cmath>

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

}  // namespace

Real Elu(const Real& x) { return x > 0 ? x : Expm1(x); }

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

Real LogSigmoid(const Real& x) { return IsNegative(x) ? x - Log1p(Exp(x)) : -Log1p(Exp(-x)); }

Real Mish(const Real& x) { return Gated(x, MishShare); }

Real Reciprocal(const Real& x) { return 1 / x; }

// Of -0 it is -inf, as in C23; mpfr_rec_sqrt says +inf.
Real Rsqrt(const Real& x) { return 1 / Sqrt(x); }

Real Selu(const Real& x) { return Real(kScale) * (x > 0 ? x : Real(kAlpha) * Expm1(x)); }

Real Sigmoid(const Real& x) { return 1 / (1 + Exp(-x)); }

Real Silu(const Real& x) { return Gated(x, Sigmoid); }

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

Real Xlogy(const Real& x, const Real& y) {
  if (x == 0) return 0;
  return x * Log(y);
}

}  // namespace repdl::reference
