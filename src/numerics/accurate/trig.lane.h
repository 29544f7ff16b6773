// SPDX-License-Identifier: MIT
// The accurate steps of the trigonometric functions and their inverses: each is the function itself, for every
// argument.

// 2 / pi in digits of 32 bits.
REPDL_TABLE(TwoOverPi, double, 45, 0x1.45f306dc00000p+31, 0x1.391054a400000p+30, 0x1.f84eafa200000p+31,
            0x1.ea69bb8000000p+31, 0x1.b6c52b3200000p+31, 0x1.e21c820800000p+29, 0x1.fca2c75600000p+31,
            0x1.bd778ac200000p+31, 0x1.6e48dc7400000p+31, 0x1.09374b8000000p+30, 0x1.924bba8000000p+26,
            0x1.3a32438000000p+27, 0x1.fc3bd63800000p+31, 0x1.62534e7c00000p+31, 0x1.d1046bea00000p+31,
            0x1.75da242000000p+29, 0x1.d338e04c00000p+31, 0x1.68befc8200000p+31, 0x1.cc8eb1c800000p+29,
            0x1.06a673e800000p+31, 0x1.3908bf1600000p+31, 0x1.7bf2507600000p+31, 0x1.ff897ff000000p+28,
            0x1.bc0b301e00000p+31, 0x1.de5e231600000p+31, 0x1.6829b47c00000p+30, 0x1.b4d9fb3c00000p+30,
            0x1.3e584db800000p+29, 0x1.3d18fd9800000p+30, 0x1.3cbfd45a00000p+31, 0x1.d49eeb1c00000p+30,
            0x1.d7cbe2f600000p+31, 0x1.e839cfb800000p+29, 0x1.14a525d400000p+31, 0x1.afed7ec400000p+30,
            0x1.f8d5d08000000p+28, 0x1.580cc11800000p+30, 0x1.f8f6d75600000p+31, 0x1.e19f784000000p+31,
            0x1.35e86c3a00000p+31, 0x1.53c722c200000p+31, 0x1.7b986c2000000p+30, 0x1.9666157c00000p+30,
            0x1.4a06840000000p+28, 0x1.1bffb10000000p+31)

/// a = (4 k + quadrant) pi / 2 + the result, which is at most pi / 4, for a finite a >= 0 (Payne and Hanek, 1983): the
/// product with 12 digits of 2 / pi in integers, without those before, which make multiples of 4.
REPDL_ACCURATE_PART Triple QuadrantRemainder(double a, int& quadrant) {
  quadrant = 0;
  if (a <= 0.785) return {a, 0.0, 0.0};
  constexpr int kDigits = 10;
  const int64_t bits = BitCast(Tag<int64_t>(), a);
  const auto fraction = static_cast<uint64_t>((bits & 0xfffffffffffff) | 0x10000000000000);
  const int exponent = ExponentOf(a) - 52;
  const int first = exponent > 2 ? (exponent - 2) / 32 : 0;
  uint32_t product[kDigits + 2] = {};  // the least digit first
  for (int half = 0; half < 2; ++half) {
    const uint64_t factor = half == 0 ? fraction & 0xffffffff : fraction >> 32;
    uint64_t carry = 0;
    for (int i = 0; i < kDigits; ++i) {
      carry += factor * static_cast<uint32_t>(TwoOverPi()[first + kDigits - 1 - i]) + product[i + half];
      product[i + half] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    product[kDigits + half] = static_cast<uint32_t>(carry);
  }
  const int point = 32 * (first + kDigits) - exponent;  // bits after it
  const auto bit = [&](int i) { return static_cast<int>(product[i / 32] >> (i % 32) & 1); };
  const bool negative = bit(point - 1) != 0;
  quadrant = (bit(point) + 2 * bit(point + 1) + (negative ? 1 : 0)) & 3;
  const int top = point / 32;
  uint32_t carry = 1;
  if (negative) {
    for (int i = 0; i <= top; ++i) {
      product[i] = ~product[i] + carry;
      carry = carry != 0 && product[i] == 0 ? 1 : 0;
    }
  }
  product[top] &= (uint32_t{1} << (point % 32)) - 1;
  Triple turn{0.0, 0.0, 0.0};
  for (int i = top; i >= 0; --i) turn = Add(turn, Mul(static_cast<double>(product[i]), PowerOfTwo(32 * i - point)));
  const Triple rest = Mul(turn, Set(Constant::kHalfPi));
  return negative ? Neg(rest) : rest;
}

/// sin(r + quadrant pi / 2).
REPDL_ACCURATE_PART Triple SineOfQuadrant(Triple r, int quadrant) {
  Triple sine, cosine;
  SineAndCosine(r, sine, cosine);
  const Triple y = (quadrant & 1) != 0 ? cosine : sine;
  return (quadrant & 2) != 0 ? Neg(y) : y;
}

REPDL_ACCURATE double Sin(double x) {
  const double a = Abs(x);
  if (!(a <= 0x1.fffffffffffffp+1023)) return Sub(x, x);
  if (a < 0x1p-30) return x;
  int quadrant;
  const Triple r = QuadrantRemainder(a, quadrant);
  const double y = Rounded(SineOfQuadrant(r, quadrant), 0);
  return x < 0.0 ? Neg(y) : y;
}

REPDL_ACCURATE double Cos(double x) {
  const double a = Abs(x);
  if (!(a <= 0x1.fffffffffffffp+1023)) return Sub(x, x);
  int quadrant;
  const Triple r = QuadrantRemainder(a, quadrant);
  return Rounded(SineOfQuadrant(r, quadrant + 1), 0);
}

REPDL_ACCURATE double Tan(double x) {
  const double a = Abs(x);
  if (!(a <= 0x1.fffffffffffffp+1023)) return Sub(x, x);
  if (a < 0x1p-30) return x;
  int quadrant;
  const Triple r = QuadrantRemainder(a, quadrant);
  Triple sine, cosine;
  SineAndCosine(r, sine, cosine);
  const double y = Rounded((quadrant & 1) != 0 ? Neg(Div(cosine, sine)) : Div(sine, cosine), 0);
  return x < 0.0 ? Neg(y) : y;
}

/// sin(pi f) and cos(pi f) for |f| <= 1/4 that is 0 or not far below 2^-200.
REPDL_ACCURATE_PART void SineAndCosineOfTurn(double f, Triple& sine, Triple& cosine) {
  SineAndCosine(Mul(Set(Constant::kPi), f), sine, cosine);
}

/// sin(pi f) for 0 < |f| <= 1/2, |f| not far below 2^-200.
REPDL_ACCURATE_PART Triple SineOfTurn(double f) {
  Triple sine, cosine;
  if (Abs(f) <= 0.25) {
    SineAndCosineOfTurn(f, sine, cosine);
    return sine;
  }
  SineAndCosineOfTurn(Sub(0.5, Abs(f)), sine, cosine);
  return f < 0.0 ? Neg(cosine) : cosine;
}

/// Whether n is an odd number.
REPDL_ACCURATE_PART bool IsOdd(double n) { return NotEq(Mul(Round(Mul(n, 0.5)), 2.0), n); }

REPDL_ACCURATE double SinPi(double x) {
  const double a = Abs(x);
  if (!(a <= 0x1.fffffffffffffp+1023)) return Sub(x, x);
  if (Eq(a, 0.0)) return x;
  if (a < 0x1p-200) {
    int exponent;
    const double fraction = Fraction(a, exponent);
    return CopySign(Rounded(Mul(Set(Constant::kPi), fraction), exponent), x);
  }
  const double n = Round(a);
  const double f = Sub(a, n);  // exact
  if (Eq(f, 0.0)) return CopySign(0.0, x);
  const double y = Rounded(SineOfTurn(f), 0);
  return (x < 0.0) != IsOdd(n) ? Neg(y) : y;
}

REPDL_ACCURATE double CosPi(double x) {
  const double a = Abs(x);
  if (!(a <= 0x1.fffffffffffffp+1023)) return Sub(x, x);
  const double turns = Mul(a, 0.5);
  const double u = Mul(Abs(Sub(turns, Round(turns))), 2.0);  // |x| - 2 n, exact or tiny
  if (Eq(u, 0.5)) return 0.0;
  Triple sine, cosine;
  if (u <= 0.25) {
    SineAndCosineOfTurn(u < 0x1p-200 ? 0.0 : u, sine, cosine);
    return Rounded(cosine, 0);
  }
  if (u < 0.75) {
    SineAndCosineOfTurn(Sub(0.5, u), sine, cosine);
    return Rounded(sine, 0);
  }
  SineAndCosineOfTurn(Sub(1.0, u), sine, cosine);
  return Neg(Rounded(cosine, 0));
}

/// atan(y / x) for y and x >= 0 with a quotient that is 0 or from 2^-200 to 2^200, by a guess g and the angle that is
/// left: its tangent is (y cos g - x sin g) / (x cos g + y sin g).
REPDL_ACCURATE_PART Triple AngleOf(Triple y, Triple x) {
  const bool swap = y.high > x.high;
  const Triple smaller = swap ? x : y, larger = swap ? y : x;
  const double guess = scalar::AtanWide()(Tag<double>(), Div(smaller.high, larger.high));
  Triple sine, cosine;
  SineAndCosine({guess, 0.0, 0.0}, sine, cosine);
  const Triple t = Div(Sub(Mul(smaller, cosine), Mul(larger, sine)), Add(Mul(larger, cosine), Mul(smaller, sine)));
  const double cube = Mul(Mul(t.high, t.high), t.high);
  const Triple angle = Add(Add(t, Mul(cube, -0x1.5555555555555p-2)), guess);
  return swap ? Sub(Set(Constant::kHalfPi), angle) : angle;
}

REPDL_ACCURATE double Atan(double x) {
  const double a = Abs(x);
  if (!(a >= 0x1p-30)) return x;
  const double limit = 0x1p100;  // from far below on, the result is the same
  return CopySign(Rounded(AngleOf({a > limit ? limit : a, 0.0, 0.0}, {1.0, 0.0, 0.0}), 0), x);
}

REPDL_ACCURATE double Atan2(double y, double x) {
  if (NotEq(x, x) || NotEq(y, y)) return Add(x, y);
  constexpr double kInfinity = __builtin_huge_val();
  const bool left = CopySign(1.0, x) < 0.0;
  double y_magnitude = Abs(y), x_magnitude = Abs(x);
  if (Eq(y_magnitude, kInfinity) || Eq(x_magnitude, kInfinity)) {
    y_magnitude = Eq(y_magnitude, kInfinity) ? 1.0 : 0.0;
    x_magnitude = Eq(x_magnitude, kInfinity) ? 1.0 : 0.0;
  }
  if (Eq(y_magnitude, 0.0)) return CopySign(left ? Rounded(Set(Constant::kPi), 0) : 0.0, y);
  if (Eq(x_magnitude, 0.0)) return CopySign(Rounded(Set(Constant::kHalfPi), 0), y);
  int y_exponent, x_exponent;
  const Triple u{Fraction(y_magnitude, y_exponent), 0.0, 0.0}, v{Fraction(x_magnitude, x_exponent), 0.0, 0.0};
  const int exponent = y_exponent - x_exponent;
  if (exponent < -60 && !left) {
    // The angle is less than the quotient, by less than would be seen in another place than just below a midpoint.
    Triple quotient = Div(u, v);
    quotient = Add(quotient, Mul(quotient.high, -0x1p-130));
    return CopySign(Rounded(quotient, exponent < -1200 ? -1200 : exponent), y);
  }
  const int limited = exponent > 100 ? 100 : exponent < -100 ? -100 : exponent;  // the result is the same
  const Triple angle = AngleOf(Scaled(u, limited), v);
  return CopySign(Rounded(left ? Sub(Set(Constant::kPi), angle) : angle, 0), y);
}

/// sqrt(1 - a^2).
REPDL_ACCURATE_PART Triple OtherSide(double a) { return Sqrt(Add(Neg(Square(a)), 1.0)); }

REPDL_ACCURATE double Asin(double x) {
  const double a = Abs(x);
  if (a < 0x1p-30) return x;
  if (!(a <= 1.0)) return Sub(Mul(x, __builtin_huge_val()), Mul(x, __builtin_huge_val()));
  return CopySign(Rounded(AngleOf({a, 0.0, 0.0}, OtherSide(a)), 0), x);
}

REPDL_ACCURATE double Acos(double x) {
  const double a = Abs(x);
  if (!(a <= 1.0)) return Sub(Mul(x, __builtin_huge_val()), Mul(x, __builtin_huge_val()));
  if (Eq(x, 1.0)) return 0.0;
  const double limited = a < 0x1p-200 ? 0.0 : a;  // the result is the same
  const Triple angle = AngleOf(OtherSide(limited), {limited, 0.0, 0.0});
  return Rounded(x < 0.0 ? Sub(Set(Constant::kPi), angle) : angle, 0);
}
