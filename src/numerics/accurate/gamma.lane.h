// SPDX-License-Identifier: MIT
// The accurate steps of lgamma and digamma: each is the function itself, for every argument. Arguments are moved to 32
// or more, where 22 terms of Stirling's series are enough.

constexpr double kFarGamma = 32.0;
constexpr int kStirlingTerms = 22;

/// log(x) with an error of about 2^-150, for x > 0 of a moderate exponent: by a step from a guess g, of z = x e^-g - 1.
REPDL_ACCURATE_PART Triple Log(Triple x) {
  const int e = ExponentOf(x.high);
  const Triple fraction = Scaled(x, -e);
  const double guess = scalar::LogWide()(Tag<double>(), fraction.high);
  int exponent;
  const Triple inverse = Exp({Neg(guess), 0.0, 0.0}, exponent);
  const Triple z = Add(Scaled(Mul(fraction, inverse), exponent), -1.0);
  const double cubic = Mul(Mul(Mul(z.high, z.high), z.high), 0x1.5555555555555p-2);
  const Triple log = Add(Add(Add(Mul(Mul(z, z), -0.5), cubic), z), guess);
  return Add(Mul(Set(Constant::kLn2), static_cast<double>(e)), log);
}

/// The same for any finite double above 0.
REPDL_ACCURATE_PART Triple LogOf(double x) {
  int e;
  const double fraction = Fraction(x, e);
  return Add(Mul(Set(Constant::kLn2), static_cast<double>(e)), Log({fraction, 0.0, 0.0}));
}

/// B(2 k) / (2 k (2 k - 1)) for k = i + 1.
REPDL_ACCURATE_PART Triple StirlingTerm(int i) {
  return {scalar::Stirling()[i], scalar::StirlingLow()[i], scalar::StirlingLowest()[i]};
}

/// sin(pi f) and cos(pi f) for 0 < f <= 1/2.
REPDL_ACCURATE_PART void SineAndCosineOfHalf(double f, Triple& sine, Triple& cosine) {
  if (f <= 0.25) {
    SineAndCosineOfTurn(f, sine, cosine);
  } else {
    SineAndCosineOfTurn(Sub(0.5, f), cosine, sine);
  }
}

REPDL_ACCURATE double Lgamma(double x) {
  const double a = Abs(x);
  if (NotEq(x, x)) return x;
  if (Eq(x, 1.0) || Eq(x, 2.0)) return 0.0;
  const double distance = Abs(Sub(a, Round(a)));
  if (Eq(a, 0.0) || !(a <= 0x1.fffffffffffffp+1023) || (x < 0.0 && Eq(distance, 0.0))) return __builtin_huge_val();
  if (a < 0x1p-200) return Rounded(Neg(LogOf(a)), 0);
  if (a > 0x1p200) return Rounded(Mul(Add(LogOf(a), -1.0), Mul(a, 0x1p-200)), 200);
  Triple z{a, 0.0, 0.0}, factors{1.0, 0.0, 0.0};
  while (z.high < kFarGamma) {
    factors = Mul(factors, z);
    z = Add(z, 1.0);
  }
  const Triple inverse = Div({1.0, 0.0, 0.0}, z), square = Mul(inverse, inverse);
  Triple sum = StirlingTerm(kStirlingTerms - 1);
  for (int i = kStirlingTerms - 2; i >= 0; --i) sum = Add(Mul(sum, square), StirlingTerm(i));
  const Triple half_log_two_pi{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55, -0x1.b7f70c13dc1ccp-110};
  sum = Add(Mul(sum, inverse), half_log_two_pi);
  sum = Add(Sub(Mul(Add(z, -0.5), Log(z)), z), sum);
  if (a < kFarGamma) sum = Sub(sum, Log(factors));
  if (x < 0.0) {
    Triple sine, cosine;
    SineAndCosineOfHalf(distance, sine, cosine);
    sum = Sub(Log(Div(Set(Constant::kPi), Mul(sine, a))), sum);
  }
  return Rounded(sum, 0);
}

REPDL_ACCURATE double Digamma(double x) {
  const double a = Abs(x);
  if (NotEq(x, x)) return x;
  if (a < 0x1p-200) return Div(-1.0, x);
  const double distance = Sub(a, Round(a));
  if (!(a <= 0x1.fffffffffffffp+1023) || Eq(distance, 0.0)) {
    if (x < 0.0) return Sub(__builtin_huge_val(), __builtin_huge_val());
    if (!(a <= 0x1.fffffffffffffp+1023)) return x;
  }
  if (a > 0x1p200) return Rounded(LogOf(a), 0);
  Triple z{a, 0.0, 0.0}, sum{0.0, 0.0, 0.0};
  const Triple one{1.0, 0.0, 0.0};
  while (z.high < kFarGamma) {
    sum = Sub(sum, Div(one, z));
    z = Add(z, 1.0);
  }
  const Triple inverse = Div(one, z), square = Mul(inverse, inverse);
  Triple series{0.0, 0.0, 0.0};
  for (int i = kStirlingTerms - 1; i >= 0; --i) {
    series = Mul(Add(series, Mul(StirlingTerm(i), static_cast<double>(2 * i + 1))), square);
  }
  sum = Add(sum, Sub(Log(z), Add(series, Scaled(inverse, -1))));
  if (x < 0.0) {
    Triple sine, cosine;
    SineAndCosineOfHalf(Abs(distance), sine, cosine);
    const Triple cotangent = Mul(Div(cosine, sine), Set(Constant::kPi));
    sum = Add(Add(sum, Div(one, Triple{a, 0.0, 0.0})), distance < 0.0 ? Neg(cotangent) : cotangent);
  }
  return Rounded(sum, 0);
}

REPDL_ACCURATE double Trigamma(double x) {
  const double a = Abs(x);
  if (NotEq(x, x)) return x;
  if (Eq(a, 0.0)) return __builtin_huge_val();
  if (!(a <= 0x1.fffffffffffffp+1023)) return x < 0.0 ? Sub(x, x) : 0.0;
  const double distance = Abs(Sub(a, Round(a)));
  if (x < 0.0 && Eq(distance, 0.0)) return __builtin_huge_val();
  const Triple one{1.0, 0.0, 0.0};
  if (a < 0x1p-200) {
    int exponent;
    const double fraction = Fraction(a, exponent);
    if (exponent < -512) return __builtin_huge_val();
    return Rounded(Div(Triple{2.0, 0.0, 0.0}, Square(fraction)), -2 * exponent - 1);
  }
  if (a > 0x1p200) return Div(1.0, x);
  Triple z{a, 0.0, 0.0}, sum{0.0, 0.0, 0.0};
  while (z.high < kFarGamma) {
    sum = Add(sum, Div(one, Mul(z, z)));
    z = Add(z, 1.0);
  }
  const Triple inverse = Div(one, z), square = Mul(inverse, inverse);
  Triple series{0.0, 0.0, 0.0};
  for (int i = kStirlingTerms - 1; i >= 0; --i) {
    series = Mul(Add(series, Mul(StirlingTerm(i), static_cast<double>((2 * i + 1) * (2 * i + 2)))), square);
  }
  sum = Add(sum, Mul(inverse, Add(Add(series, Scaled(inverse, -1)), 1.0)));
  if (x < 0.0) {
    Triple sine, cosine;
    SineAndCosineOfHalf(distance, sine, cosine);
    const Triple ratio = Div(Set(Constant::kPi), sine), over = Div(one, Triple{a, 0.0, 0.0});
    sum = Add(Mul(ratio, ratio), Sub(Mul(over, over), sum));
  }
  return Rounded(sum, 0);
}
