// SPDX-License-Identifier: MIT
// The accurate steps of the modified Bessel functions: each is the function itself, for every argument.

/// I(a) for a not below 2^-200, or with kScaled exp(-a) I(a), is the result times 2^exponent. By the power series and,
/// from 60 on, by the asymptotic one.
template <int kOrder, bool kScaled>
REPDL_ACCURATE_PART Triple ModifiedBessel(double a, int& exponent) {
  const Triple one{1.0, 0.0, 0.0};
  Triple term = one, sum = one;
  exponent = 0;
  if (a < 60.0) {
    const Triple square = Square(Mul(a, 0.5));
    for (int k = 1; term.high > Mul(sum.high, 0x1p-165); ++k) {
      term = Div(Mul(term, square), static_cast<double>(k * (k + kOrder)));
      sum = Add(sum, term);
    }
    if (kOrder == 1) sum = Mul(sum, Mul(a, 0.5));
    return kScaled ? Mul(sum, Exp({Neg(a), 0.0, 0.0}, exponent)) : sum;
  }
  const int down = a > 0x1p900 ? 100 : 0;
  const double moderate = Mul(a, down > 0 ? 0x1p-200 : 1.0);
  if (a < 0x1p200) {
    for (int k = 1; Abs(term.high) > 0x1p-165; ++k) {
      const double odd = 2 * k - 1, factor = Sub(Mul(odd, odd), 4.0 * kOrder);
      term = Div(Div(Mul(term, factor), 8.0 * k), a);
      sum = Add(sum, term);
    }
  }
  sum = Div(sum, Sqrt(Mul(Set(Constant::kPi), Add(moderate, moderate))));
  if (!kScaled) sum = Mul(sum, Exp({a, 0.0, 0.0}, exponent));
  exponent -= down;
  return sum;
}

template <int kOrder, bool kScaled>
REPDL_ACCURATE_PART double RoundedModifiedBessel(double x) {
  const double a = Abs(x);
  if (NotEq(x, x)) return x;
  double y;
  int exponent;
  if (kOrder == 1 && a < 0x1p-200) {
    // a / 2, and a little more or less
    if (Eq(a, 0.0)) return 0.0;
    const double fraction = Fraction(a, exponent);
    y = Rounded({fraction, kScaled ? -0x1p-200 : 0x1p-200, 0.0}, exponent - 1);
  } else if (!kScaled && a > 720.0) {
    y = __builtin_huge_val();
  } else if (Eq(a, __builtin_huge_val())) {
    y = 0.0;
  } else if (a < 0x1p-200) {
    y = 1.0;
  } else {
    const Triple sum = ModifiedBessel<kOrder, kScaled>(a, exponent);
    y = Rounded(sum, exponent);
  }
  return kOrder == 1 && x < 0.0 ? Neg(y) : y;
}

REPDL_ACCURATE double I0(double x) { return RoundedModifiedBessel<0, false>(x); }
REPDL_ACCURATE double I0e(double x) { return RoundedModifiedBessel<0, true>(x); }
REPDL_ACCURATE double I1(double x) { return RoundedModifiedBessel<1, false>(x); }
REPDL_ACCURATE double I1e(double x) { return RoundedModifiedBessel<1, true>(x); }
