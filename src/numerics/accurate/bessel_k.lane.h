// SPDX-License-Identifier: MIT
// The accurate steps of the modified Bessel functions of the second kind: each is the function itself, for every
// argument.

/// log(x / 2) + gamma, Euler's constant, for a finite x > 0.
REPDL_ACCURATE_PART Triple BesselLogarithm(double x) {
  return Add(LogOf(x), {-0x1.dadb014541eb2p-4, -0x1.be095d05c0a81p-62, 0x1.4a760db891484p-116});
}

/// 1 / (sqrt(2 x / pi) exp(x) K(x)) for x from 8 to 2^200, K being of the order whose square is 1/4 - first, by Temme's sum
/// beside Steed's continued fraction, which is h.
REPDL_ACCURATE_PART Triple InverseFarK(Triple x, Triple first, Triple& h) {
  const Triple one{1.0, 0.0, 0.0};
  Triple b = Scaled(Add(x, 1.0), 1);
  Triple d = Div(one, b), delta = d;
  h = d;
  Triple weight = first, less{0.0, 0.0, 0.0}, sum_of_weights = weight;
  Triple sum = Add(Mul(weight, delta), 1.0), term = delta;
  Triple a = Neg(first);
  for (int i = 2; Abs(term.high) > 0x1p-165; ++i) {
    const Triple next = Div(Sub(Mul(b, weight), less), static_cast<double>(i));
    a = Add(a, -2.0 * (i - 1));
    less = Div(Mul(weight, Neg(a)), static_cast<double>(i));
    weight = next;
    sum_of_weights = Add(sum_of_weights, weight);
    b = Add(b, 2.0);
    d = Div(one, Add(b, Mul(d, a)));
    delta = Mul(Add(Mul(b, d), -1.0), delta);
    h = Add(h, delta);
    term = Mul(sum_of_weights, delta);
    sum = Add(sum, term);
  }
  return sum;
}

/// sqrt(2 x / pi) exp(x) K(x) for x from 8 to 2^200.
template <int kOrder>
REPDL_ACCURATE_PART Triple FarK(double x) {
  const Triple argument{x, 0.0, 0.0}, one{1.0, 0.0, 0.0};
  Triple h;
  const Triple k0 = Div(one, InverseFarK(argument, {0.25, 0.0, 0.0}, h));
  if (kOrder == 0) return k0;
  return Div(Mul(k0, Sub(Add(argument, 0.5), Scaled(h, -2))), argument);
}

/// K(x) for x from 2^-200 to 8, by the power series.
template <int kOrder>
REPDL_ACCURATE_PART Triple NearK(double x) {
  const Triple square = Square(Mul(x, 0.5));
  Triple term{1.0, 0.0, 0.0}, sum = term, harmonic{kOrder == 0 ? 0.0 : 0.5, 0.0, 0.0}, beside = harmonic;
  for (int k = 1; term.high > 0x1p-170; ++k) {
    term = Div(Mul(term, square), static_cast<double>(k * (k + kOrder)));
    sum = Add(sum, term);
    // (H(k) + H(k + order)) / 2
    const double twice = 2.0 * k;
    if (kOrder == 0) {
      harmonic = Add(harmonic, Div({1.0, 0.0, 0.0}, static_cast<double>(k)));
    } else {
      harmonic = Add(harmonic, Div({2.0 * k + 1.0, 0.0, 0.0}, twice * (k + 1)));
    }
    beside = Add(beside, Mul(term, harmonic));
  }
  const Triple rest = Sub(beside, Mul(BesselLogarithm(x), sum));
  if (kOrder == 0) return rest;
  return Sub(Div({1.0, 0.0, 0.0}, {x, 0.0, 0.0}), Mul(rest, Mul(x, 0.5)));
}

template <int kOrder, bool kScaled>
REPDL_ACCURATE_PART double RoundedModifiedBesselK(double x) {
  if (NotEq(x, x)) return x;
  if (x < 0.0) return Sub(__builtin_huge_val(), __builtin_huge_val());
  if (Eq(x, 0.0)) return __builtin_huge_val();
  if (Eq(x, __builtin_huge_val()) || (!kScaled && x > 800.0)) return 0.0;
  if (x < 0x1p-200) return kOrder == 0 ? Rounded(Neg(BesselLogarithm(x)), 0) : Div(1.0, x);
  int exponent = 0;
  if (x < 8.0) {
    const Triple k = NearK<kOrder>(x);
    if (!kScaled) return Rounded(k, 0);
    const Triple e = Exp({x, 0.0, 0.0}, exponent);
    return Rounded(Mul(k, e), exponent);
  }
  const int down = x > 0x1p900 ? 100 : 0;
  const double moderate = Mul(x, down > 0 ? 0x1p-200 : 1.0);
  const Triple sum = x < 0x1p200 ? FarK<kOrder>(x) : Triple{1.0, 0.0, 0.0};
  Triple y = Mul(sum, Sqrt(Div(Set(Constant::kHalfPi), moderate)));
  if (!kScaled) y = Mul(y, Exp({Neg(x), 0.0, 0.0}, exponent));
  return Rounded(y, exponent - down);
}

REPDL_ACCURATE double ModifiedBesselK0(double x) { return RoundedModifiedBesselK<0, false>(x); }
REPDL_ACCURATE double ModifiedBesselK1(double x) { return RoundedModifiedBesselK<1, false>(x); }
REPDL_ACCURATE double ScaledModifiedBesselK0(double x) { return RoundedModifiedBesselK<0, true>(x); }
REPDL_ACCURATE double ScaledModifiedBesselK1(double x) { return RoundedModifiedBesselK<1, true>(x); }
