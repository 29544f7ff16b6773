// SPDX-License-Identifier: MIT
// The accurate steps of the Airy function: each is the function itself, for every argument that it says. zeta is
// 2/3 |x|^(3/2).

// 2 / (3 pi) in digits of 28 bits.
REPDL_TABLE(TwoOverThreePi, double, 64, 0x1.b2995e0000000p+25, 0x1.eded80e000000p+27, 0x1.bfd6f80000000p+23,
            0x1.fc29c44000000p+26, 0x1.3e80924000000p+27, 0x1.b910d20000000p+23, 0x1.af6b028000000p+26,
            0x1.4364272000000p+27, 0x1.28fa5c8000000p+26, 0x1.24c2f40000000p+23, 0x1.36b6f40000000p+24,
            0x1.92ab30c000000p+26, 0x1.f46b120000000p+23, 0x1.66168a8000000p+27, 0x1.6947686000000p+27,
            0x1.61bc4d4000000p+27, 0x1.3602f28000000p+26, 0x1.c3e4f04000000p+26, 0x1.0346684000000p+27,
            0x1.588f07c000000p+26, 0x1.a980d10000000p+27, 0x1.7c84cac000000p+26, 0x1.8cd14da000000p+27,
            0x1.dad9506000000p+27, 0x1.d3fb702000000p+27, 0x1.daa96e8000000p+25, 0x1.5528074000000p+26,
            0x1.ab54a1e000000p+27, 0x1.6107914000000p+27, 0x1.c48bf9e000000p+27, 0x1.22a4500000000p+24,
            0x1.a875bce000000p+27, 0x1.8a2ed4e000000p+27, 0x1.e287fe0000000p+26, 0x1.73a36fc000000p+27,
            0x1.1da9d42000000p+27, 0x1.f65228a000000p+27, 0x1.ef7f4b8000000p+26, 0x1.b864e20000000p+24,
            0x1.ff3a9d8000000p+25, 0x1.508e8a0000000p+23, 0x1.0395774000000p+27, 0x1.84a8524000000p+27,
            0x1.f1fd778000000p+25, 0x1.d2c0674000000p+27, 0x1.af2d234000000p+26, 0x1.ed0b962000000p+27,
            0x1.f441204000000p+27, 0x1.9911038000000p+27, 0x1.4b86af0000000p+27, 0x1.584aa90000000p+24,
            0x1.b0033a2000000p+27, 0x1.a20aea0000000p+23, 0x1.d71c90c000000p+26, 0x1.ef8bb70000000p+26,
            0x1.5ec5280000000p+27, 0x1.76736a0000000p+25, 0x1.5debcd0000000p+24, 0x1.127be00000000p+26,
            0x1.8715e40000000p+25, 0x1.2da45d0000000p+27, 0x1.d7b8924000000p+26, 0x1.ca2de0e000000p+27,
            0x1.2ed6350000000p+25)

/// zeta = (4 k + quadrant) pi / 2 + the result, which is at most pi / 4, for a finite x from 14 on: in integers, with as
/// many bits of the root of x as zeta has before its point, and 150 more.
REPDL_ACCURATE_PART Triple AiryAngle(double x, int& quadrant) {
  constexpr int kBits = 28, kDigits = 64, kColumns = 9;
  constexpr int64_t kDigit = (int64_t{1} << kBits) - 1;
  // x = m 4^e for an integer m, whose root is of [2^26, 2^27)
  int exponent;
  const double fraction = Fraction(x, exponent);
  const int bits = 52 + (exponent & 1);
  const double whole = Mul(fraction, PowerOfTwo(bits));
  const auto m = static_cast<int64_t>(whole);
  const int shift = 3 * ((exponent - bits) / 2);
  // Twice the root of m, and what is left of m beside its square, with `below` digits after the point, the least first.
  const int below = (shift + 204 + kBits - 1) / kBits;
  int64_t root[kDigits] = {}, rest[2 * kDigits] = {};
  auto first = static_cast<int64_t>(Sqrt(whole));
  if (first * first > m) --first;
  root[below] = 2 * first;
  rest[2 * below] = m - first * first;
  // A digit is estimated, never too large: it may be some times what a digit can be, which later ones make good.
  const double inverse = Div(0x1.fffffffffffp-1, Mul(Sqrt(whole), 0x1p29));
  for (int i = below - 1; i >= 0; --i) {
    const int top = below + i;
    const double high = Fma(static_cast<double>(rest[top + 1]), 0x1p28, static_cast<double>(rest[top]));
    const auto digit = static_cast<int64_t>(Mul(Fma(high, 0x1p28, static_cast<double>(rest[top - 1])), inverse));
    root[i] = digit;
    int64_t carry = 0;
    for (int j = i; j <= below; ++j) {
      carry += rest[i + j] - digit * root[j];
      rest[i + j] = carry & kDigit;
      carry >>= kBits;
    }
    rest[top] += (rest[top + 1] + carry) << kBits;  // the next digit's first
    carry = digit;                                  // makes it twice the digit
    for (int j = i; carry != 0; ++j) {
      carry += root[j];
      root[j] = carry & kDigit;
      carry >>= kBits;
    }
  }
  int64_t product[kDigits + 2] = {};
  for (int half = 0; half < 2; ++half) {
    const int64_t factor = half == 0 ? m & kDigit : m >> kBits;
    int64_t carry = 0;
    for (int j = 0; j <= below; ++j) {
      carry += factor * root[j] + product[j + half];
      product[j + half] = carry & kDigit;
      carry >>= kBits;
    }
    product[below + 1 + half] = carry;
  }
  // zeta in quarters of a turn is the product times 2 / (3 pi) times 2^shift, of which a few digits count.
  const int digits = (shift + 4 * kBits) / kBits - 4, start = below - digits - (kColumns - 1);
  int64_t turn[kColumns], carry = 0;
  for (int i = 0; i < kColumns; ++i) {
    for (int k = 0; k < kDigits; ++k) {
      const int j = start + i + k + 1;
      if (j >= 0 && j <= below + 2) carry += static_cast<int64_t>(TwoOverThreePi()[k]) * product[j];
    }
    turn[i] = carry & kDigit;
    carry >>= kBits;
  }
  carry = 0;
  for (int i = 0; i < kColumns; ++i) {
    carry += turn[i] << (shift - kBits * digits);
    turn[i] = carry & kDigit;
    carry >>= kBits;
  }
  const int64_t up = turn[kColumns - 2] >> (kBits - 1);
  quadrant = static_cast<int>((turn[kColumns - 1] + up) & 3);
  Triple part{-static_cast<double>(up), 0.0, 0.0};
  for (int i = kColumns - 2; i >= 0; --i) {
    part = Add(part, Mul(static_cast<double>(turn[i]), PowerOfTwo(kBits * (i + 1 - kColumns))));
  }
  return Mul(part, Set(Constant::kHalfPi));
}

/// zeta for x > 0 up to 2^200, and sqrt(x).
REPDL_ACCURATE_PART Triple AiryExponent(double x, Triple& root) {
  root = Sqrt({x, 0.0, 0.0});
  return Div(Mul(root, Mul(x, 2.0)), 3.0);
}

/// Ai(x) for x from -14.5 to 5.25, by the power series. 155 bits less the 53 of the largest term are left.
REPDL_ACCURATE_PART Triple NearAiry(double x) {
  const Triple cube = Mul(Square(x), x);
  Triple term{0x1.6b8c7962715b8p-2, 0x1.7a96d7bb04e65p-56, -0x1.24ad0a9dff29bp-113};
  Triple other = Mul(Triple{-0x1.0907f42b70f8bp-2, 0x1.d1459035afde2p-56, 0x1.8478657383db3p-110}, x);
  Triple sum = Add(term, other);
  for (int k = 3; Abs(term.high) > 0x1p-170; k += 3) {
    term = Div(Mul(term, cube), static_cast<double>(k * (k - 1)));
    other = Div(Mul(other, cube), static_cast<double>(k * (k + 1)));
    sum = Add(sum, Add(term, other));
  }
  return sum;
}

/// Ai(x) is the result times 2^exponent, for x from 5.25 to 110: exp(-zeta) sqrt(zeta) times a Bessel function K of
/// order 1/3.
REPDL_ACCURATE_PART Triple FarAiry(double x, int& exponent) {
  Triple root, h;
  const Triple zeta = AiryExponent(x, root);
  const Triple five_36ths{0x1.1c71c71c71c72p-3, -0x1.c71c71c71c71cp-58, -0x1.c71c71c71c71cp-112};
  const Triple inverse = InverseFarK(zeta, five_36ths, h);
  const Triple size = Sqrt(Scaled(Mul(Set(Constant::kPi), root), 2));
  return Div(Exp(Neg(zeta), exponent), Mul(inverse, size));
}

/// Ai(-x) for a finite x from 14.5 on: by Hankel's asymptotic series of order 1/3, of which the least term at 14.5 is
/// below 2^-100.
REPDL_ACCURATE_PART Triple AiryWave(double x) {
  Triple root, term{1.0, 0.0, 0.0}, parts[2] = {term, {0.0, 0.0, 0.0}};
  if (x < 0x1p150) {
    const Triple zeta = AiryExponent(x, root);
    for (int k = 0; k < 72 && Abs(term.high) > 0x1p-165; ++k) {
      const double odd = 2 * k + 1;
      term = Div(Div(Mul(term, Sub(4.0, Mul(9.0, Mul(odd, odd)))), 72.0 * (k + 1)), zeta);
      Triple& part = parts[(k + 1) & 1];
      part = ((k + 1) & 2) != 0 ? Sub(part, term) : Add(part, term);
    }
  } else {
    root = Sqrt({x, 0.0, 0.0});
  }
  int quadrant;
  const Triple r = AiryAngle(x, quadrant);
  const Triple sine = SineOfQuadrant(r, quadrant), cosine = SineOfQuadrant(r, quadrant + 1);
  // sqrt(2) times the cosine and sine of zeta - pi / 4
  const Triple across = Add(sine, cosine), up = Sub(sine, cosine);
  return Div(Sub(Mul(parts[0], across), Mul(parts[1], up)), Sqrt(Scaled(Mul(Set(Constant::kPi), root), 1)));
}

REPDL_ACCURATE double AiryAi(double x) {
  if (NotEq(x, x)) return x;
  if (x > 110.0 || Eq(x, -__builtin_huge_val())) return 0.0;
  if (x <= -14.5) return Rounded(AiryWave(Neg(x)), 0);
  if (x < 5.25) return Rounded(NearAiry(x), 0);
  int exponent;
  const Triple y = FarAiry(x, exponent);
  return Rounded(y, exponent);
}

/// Ai(x) for x up to -14.5 or NaN, rounded to odd.
REPDL_ACCURATE double AiryAiToOdd(double x) {
  if (NotEq(x, x)) return x;
  if (Eq(x, -__builtin_huge_val())) return 0.0;
  const Triple y = AiryWave(Neg(x));
  return RoundToOdd(y.high, Add(y.middle, y.low));
}
