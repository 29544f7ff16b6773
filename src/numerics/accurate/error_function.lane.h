// SPDX-License-Identifier: MIT
// The accurate steps of erf, erfc, erfinv, gelu and its derivative: each is the function itself, for every argument.

/// x / y for an integer y that a double holds.
REPDL_ACCURATE_PART Triple Div(Triple x, double y) {
  double error;
  const double first = Div(x.high, y);
  const double rest = TwoSum(Fma(Neg(first), y, x.high), x.middle, error);
  const double second = Div(rest, y);
  return Normalized(first, second, Div(Add(Fma(Neg(second), y, rest), Add(error, x.low)), y));
}

/// erf(x) for |x| <= 4 and not far below 2^-200: 2 / sqrt(pi) x e^(-x^2) (1 + 2 x^2 / 3 (1 + 2 x^2 / 5 (1 + ...
REPDL_ACCURATE_PART Triple ErfByPowers(Triple x) {
  const Triple square = Mul(x, x);
  const Triple twice = Add(square, square);
  Triple term{1.0, 0.0, 0.0}, sum = term;
  for (int k = 1; term.high > Mul(sum.high, 0x1p-165); ++k) {
    term = Div(Mul(term, twice), static_cast<double>(2 * k + 1));
    sum = Add(sum, term);
  }
  int exponent;
  const Triple e = Exp(Neg(square), exponent);
  return Scaled(Mul(Mul(Set(Constant::kErfSlope), x), Mul(e, sum)), exponent);
}

constexpr double kFraction = 3.5;  // where the continued fraction takes over from the powers

/// sqrt(pi) e^(x^2) erfc(x) for x >= kFraction, by Laplace's continued fraction.
REPDL_ACCURATE_PART Triple ErfcByFraction(Triple x) {
  const double terms = Add(26.0, Div(1900.0, Mul(x.high, x.high)));
  Triple y = x;
  for (int k = static_cast<int>(terms); k > 0; --k) y = Add(x, Div({Mul(k, 0.5), 0.0, 0.0}, y));
  return Div({1.0, 0.0, 0.0}, y);
}

/// erfc(x) = the result times 2^exponent for x < 40, |x| not far below 2^-200.
REPDL_ACCURATE_PART Triple ErfcOf(Triple x, int& exponent) {
  exponent = 0;
  if (x.high < -7.0) return {2.0, -0x1p-60, 0.0};  // rounds as the result does
  if (x.high < -kFraction) {
    int scale;
    const Triple e = Exp(Neg(Mul(x, x)), scale);
    return Add(Neg(Scaled(Mul(Mul(Set(Constant::kInverseSqrtPi), e), ErfcByFraction(Neg(x))), scale)), 2.0);
  }
  if (x.high < kFraction) return Add(Neg(ErfByPowers(x)), 1.0);
  const Triple e = Exp(Neg(Mul(x, x)), exponent);
  return Mul(Mul(Set(Constant::kInverseSqrtPi), e), ErfcByFraction(x));
}

REPDL_ACCURATE double Erf(double x) {
  const double a = Abs(x);
  if (!(a > 0.0)) return x;
  if (a < 0x1p-200) {
    int exponent;
    const double fraction = Fraction(a, exponent);
    return CopySign(Rounded(Mul(Set(Constant::kErfSlope), fraction), exponent), x);
  }
  if (a > 6.5) return CopySign(1.0, x);
  if (a < kFraction) return CopySign(Rounded(ErfByPowers({a, 0.0, 0.0}), 0), x);
  int exponent;
  const Triple tail = ErfcOf({a, 0.0, 0.0}, exponent);
  return CopySign(Rounded(Add(Neg(Scaled(tail, exponent)), 1.0), 0), x);
}

REPDL_ACCURATE double Erfc(double x) {
  if (NotEq(x, x)) return x;
  if (Abs(x) < 0x1p-60) return 1.0;
  if (x > 28.0) return 0.0;
  int exponent;
  const Triple y = ErfcOf({x, 0.0, 0.0}, exponent);
  return Rounded(y, exponent);
}

/// erfinv(a) for a from 2^-200 to 1.
REPDL_ACCURATE_PART Triple ErfinvOf(double a) {
  double guess = scalar::ErfinvGuess(Tag<double>(), a);
  Triple y{guess, 0.0, 0.0};
  // The guess is within 2^-25 or so, and after a step within an ulp or two.
  for (int i = 0; i < 2; ++i) {
    const Triple g{guess, 0.0, 0.0};
    Triple rest;  // erf(y) - erf(g)
    int exponent;
    if (guess < 0.5) {
      rest = Add(Neg(ErfByPowers(g)), a);
    } else {
      const Triple tail = ErfcOf(g, exponent);
      rest = Add(Scaled(tail, exponent), Sub(a, 1.0));  // exact
    }
    const Triple e = Exp(Square(guess), exponent);
    const Triple t = Scaled(Mul(Mul(rest, Set(Constant::kErfinvSlope)), e), exponent);
    // y = g + t + g t^2 + (8 g^2 + 2) / 6 t^3 + ...
    const double cube = Mul(Fma(Mul(guess, guess), 0x1.5555555555555p+0, 0x1.5555555555555p-2), Mul(t.high, t.high));
    y = Add(Add(Add(t, Mul(cube, t.high)), Mul(Mul(t, t), guess)), guess);
    guess = y.high;
  }
  return y;
}

REPDL_ACCURATE double Erfinv(double x) {
  const double a = Abs(x);
  if (!(a < 1.0)) {
    const double infinity = CopySign(__builtin_huge_val(), x);
    return Eq(a, 1.0) ? infinity : Sub(Mul(x, infinity), Mul(x, infinity));
  }
  if (Eq(a, 0.0)) return x;
  if (a < 0x1p-200) {
    int exponent;
    const double fraction = Fraction(a, exponent);
    return CopySign(Rounded(Mul(Set(Constant::kErfinvSlope), fraction), exponent), x);
  }
  return CopySign(Rounded(ErfinvOf(a), 0), x);
}

/// Phi(x) = the result times 2^exponent, for |x| <= 40 that is not far below 2^-200.
REPDL_ACCURATE_PART Triple NormalShare(double x, int& exponent) {
  const Triple y = ErfcOf(Mul(Set(Constant::kInverseSqrt2), Neg(x)), exponent);
  return Scaled(y, -1);
}

REPDL_ACCURATE double Gelu(double x) {
  const double a = Abs(x);
  if (!(a > 0.0)) return x;
  if (a > 40.0) return x > 0.0 ? x : -0.0;
  int exponent = 0, fraction_exponent;
  const double fraction = Fraction(a, fraction_exponent);
  // For a tiny x the share is so little beside 1/2 that only the side of a midpoint follows from that.
  const Triple share = a < 0x1p-200 ? Triple{0.5, CopySign(0x1p-200, x), 0.0} : NormalShare(x, exponent);
  return CopySign(Rounded(Mul(share, fraction), exponent + fraction_exponent), x);
}

REPDL_ACCURATE double GeluDerivative(double x) {
  if (NotEq(x, x)) return x;
  if (Abs(x) < 0x1p-60) return 0.5;
  if (x > 9.0) return 1.0;
  if (x < -40.0) return -0.0;
  int exponent, density_exponent;
  const Triple share = NormalShare(x, exponent);
  const Triple density = Exp(Scaled(Neg(Square(x)), -1), density_exponent);
  const Triple slope = Mul(Mul(Set(Constant::kNormalDensity), density), x);
  return Rounded(Add(share, Scaled(slope, density_exponent - exponent)), exponent);
}
