// SPDX-License-Identifier: MIT
// The accurate steps of erfcx, log_ndtr and ndtri: each is the function itself, for every argument.

/// exp(x^2) erfc(x) for x >= kFraction, x up to 2^500.
REPDL_ACCURATE_PART Triple ErfcxByFraction(Triple x) { return Mul(Set(Constant::kInverseSqrtPi), ErfcByFraction(x)); }

REPDL_ACCURATE double Erfcx(double x) {
  const double infinity = __builtin_huge_val();
  if (NotEq(x, x)) return x;
  if (x < -26.7) return infinity;
  if (Eq(x, infinity)) return 0.0;
  if (Abs(x) < 0x1p-200) return 1.0;
  int exponent;
  if (x > 0x1p200) {
    const double fraction = Fraction(x, exponent);
    return Rounded(Div(Set(Constant::kInverseSqrtPi), {fraction, 0.0, 0.0}), -exponent);
  }
  const Triple argument{x, 0.0, 0.0};
  if (x >= kFraction) return Rounded(ErfcxByFraction(argument), 0);
  const Triple e = Exp(Square(x), exponent);
  if (x > -kFraction) return Rounded(Mul(e, Add(Neg(ErfByPowers(argument)), 1.0)), exponent);
  const Triple less = Scaled(ErfcxByFraction(Neg(argument)), -exponent);
  return Rounded(Sub(Scaled(e, 1), less), exponent);
}

REPDL_ACCURATE double LogNdtr(double x) {
  if (NotEq(x, x)) return x;
  if (x > 39.0) return -0.0;
  if (x < -0x1p513) return Neg(__builtin_huge_val());
  if (Abs(x) < 0x1p-200) return Rounded(Neg(Set(Constant::kLn2)), 0);
  int exponent;
  if (x < -0x1p100) {
    const double fraction = Fraction(Neg(x), exponent);
    const Triple square = Square(fraction);
    // what is beside it decides only on which side of a midpoint it lies
    return Rounded(Neg(Normalized(square.high, square.middle, 0x1p-150)), 2 * exponent - 1);
  }
  if (x < -5.0) {
    const Triple scaled = ErfcxByFraction(Mul(Set(Constant::kInverseSqrt2), Neg(x)));
    return Rounded(Sub(Log(Scaled(scaled, -1)), Scaled(Square(x), -1)), 0);
  }
  const Triple share = NormalShare(x < 0.0 ? x : Neg(x), exponent);
  if (x < 0.0) return Rounded(Log(Scaled(share, exponent)), 0);
  const Triple q = Scaled(share, exponent < -400 ? -400 : exponent);
  if (x < 5.0) return Rounded(Log(Add(Neg(q), 1.0)), 0);
  Triple sum{0.125, 0.0, 0.0};
  for (int k = 7; k > 0; --k) sum = Add(Mul(sum, q), Div({1.0, 0.0, 0.0}, static_cast<double>(k)));
  return Rounded(Neg(Mul(share, sum)), exponent);
}

REPDL_ACCURATE double Ndtri(double p) {
  const double infinity = __builtin_huge_val();
  if (!(p > 0.0 && p < 1.0)) {
    if (Eq(p, 0.0)) return Neg(infinity);
    return Eq(p, 1.0) ? infinity : Sub(Mul(p, infinity), Mul(p, infinity));
  }
  if (Eq(p, 0.5)) return 0.0;
  const double q = p > 0.5 ? Sub(1.0, p) : p;
  Triple y;
  if (q >= 0.25) {
    y = Div(ErfinvOf(Fma(q, -2.0, 1.0)), Set(Constant::kInverseSqrt2));
  } else {
    // Newton's method for the logarithm of the tail, with a term more. The guess is within 2^-25 or so.
    double guess = scalar::NdtriGuess(Tag<double>(), q);
    const Triple aim = LogOf(q);
    for (int i = 0; i < 2; ++i) {
      int exponent, density_exponent;
      const Triple tail = NormalShare(Neg(guess), exponent);
      const Triple log = Add(Mul(Set(Constant::kLn2), static_cast<double>(exponent)), Log(tail));
      const Triple e = Exp(Neg(Scaled(Square(guess), -1)), density_exponent);
      const Triple slope = Scaled(Div(Mul(Set(Constant::kNormalDensity), e), tail), density_exponent - exponent);
      const Triple step = Div(Sub(log, aim), slope);
      const double bend = Mul(Mul(Sub(slope.high, guess), -0.5), Mul(step.high, step.high));
      y = Add(Add(step, bend), guess);
      guess = y.high;
    }
  }
  const double result = Rounded(y, 0);
  return p > 0.5 ? result : Neg(result);
}
