// SPDX-License-Identifier: MIT
// The accurate steps of the Bessel functions of the first and second kind: each is the function itself, for every
// argument.

/// J(x) and Y(x) for x from 2^-200 to 36, by the power series. 155 bits less the 48 of the largest term are left.
template <int kOrder>
REPDL_ACCURATE_PART void NearWaves(double x, Triple& j, Triple& y) {
  const Triple square = Neg(Square(Mul(x, 0.5)));
  Triple term{1.0, 0.0, 0.0}, sum = term, harmonic{kOrder == 0 ? 0.0 : 0.5, 0.0, 0.0}, beside = harmonic;
  for (int k = 1; Abs(term.high) > 0x1p-170; ++k) {
    term = Div(Mul(term, square), static_cast<double>(k * (k + kOrder)));
    sum = Add(sum, term);
    // (H(k) + H(k + order)) / 2
    if (kOrder == 0) {
      harmonic = Add(harmonic, Div({1.0, 0.0, 0.0}, static_cast<double>(k)));
    } else {
      harmonic = Add(harmonic, Div({2.0 * k + 1.0, 0.0, 0.0}, 2.0 * k * (k + 1)));
    }
    beside = Add(beside, Mul(term, harmonic));
  }
  Triple rest = Sub(Mul(BesselLogarithm(x), sum), beside);
  j = sum;
  if (kOrder == 1) {
    j = Mul(j, Mul(x, 0.5));
    rest = Sub(Mul(rest, Mul(x, 0.5)), Div({1.0, 0.0, 0.0}, {x, 0.0, 0.0}));
  }
  y = Div(rest, Set(Constant::kHalfPi));
}

/// J(x) and Y(x) are the results times 2^exponent, for a finite x from 36 on: by Hankel's asymptotic series, of which
/// the least term at 36 is below 2^-100.
template <int kOrder>
REPDL_ACCURATE_PART void FarWaves(double x, Triple& j, Triple& y, int& exponent) {
  Triple term{1.0, 0.0, 0.0}, parts[2] = {term, {0.0, 0.0, 0.0}};
  for (int k = 0; k < 70 && Abs(term.high) > 0x1p-165; ++k) {
    const double odd = 2 * k + 1;
    term = Div(Div(Mul(term, Sub(4.0 * kOrder, Mul(odd, odd))), 8.0 * (k + 1)), x);
    Triple& part = parts[(k + 1) & 1];
    part = ((k + 1) & 2) != 0 ? Sub(part, term) : Add(part, term);
  }
  int quadrant;
  const Triple r = QuadrantRemainder(x, quadrant);
  const Triple sine = SineOfQuadrant(r, quadrant), cosine = SineOfQuadrant(r, quadrant + 1);
  // sqrt(2) times the cosine and sine of x - (2 order + 1) pi / 4
  const Triple sum = Add(sine, cosine), difference = Sub(sine, cosine);
  const Triple across = kOrder == 0 ? sum : difference, up = kOrder == 0 ? difference : Neg(sum);
  const int down = x > 0x1p900 ? 100 : 0;
  const Triple root = Sqrt(Mul(Set(Constant::kPi), Mul(x, down > 0 ? 0x1p-200 : 1.0)));
  exponent = -down;
  j = Div(Sub(Mul(parts[0], across), Mul(parts[1], up)), root);
  y = Div(Add(Mul(parts[0], up), Mul(parts[1], across)), root);
}

template <int kOrder, bool kSecond>
REPDL_ACCURATE_PART double RoundedBessel(double x) {
  if (NotEq(x, x)) return x;
  const double a = Abs(x), infinity = __builtin_huge_val();
  if (kSecond && Eq(x, 0.0)) return Neg(infinity);
  if (kSecond && x < 0.0) return Sub(infinity, infinity);
  double y;
  int exponent = 0;
  if (Eq(a, infinity)) {
    y = 0.0;
  } else if (a < 0x1p-200) {
    if (!kSecond && (kOrder == 0 || Eq(a, 0.0))) {
      y = kOrder == 0 ? 1.0 : 0.0;
    } else if (kOrder == 0) {
      return Rounded(Div(BesselLogarithm(x), Set(Constant::kHalfPi)), 0);
    } else if (!kSecond) {
      const double fraction = Fraction(a, exponent);  // a / 2, and a little less
      y = Rounded({fraction, -0x1p-200, 0.0}, exponent - 1);
    } else {
      const double fraction = Fraction(a, exponent);
      const Triple inverse = Div({-1.0, 0.0, 0.0}, Mul(Set(Constant::kHalfPi), fraction));
      return Mul(Rounded(inverse, 1000), PowerOfTwo(-exponent - 1000));
    }
  } else {
    Triple j, second;
    if (a < 36.0) {
      NearWaves<kOrder>(a, j, second);
    } else {
      FarWaves<kOrder>(a, j, second, exponent);
    }
    y = Rounded(kSecond ? second : j, exponent);
  }
  if (kSecond) return y;
  return kOrder == 1 && CopySign(1.0, x) < 0.0 ? Neg(y) : y;
}

REPDL_ACCURATE double BesselJ0(double x) { return RoundedBessel<0, false>(x); }
REPDL_ACCURATE double BesselJ1(double x) { return RoundedBessel<1, false>(x); }
REPDL_ACCURATE double BesselY0(double x) { return RoundedBessel<0, true>(x); }
REPDL_ACCURATE double BesselY1(double x) { return RoundedBessel<1, true>(x); }

REPDL_ACCURATE double SphericalBesselJ0(double x) {
  if (NotEq(x, x)) return x;
  const double a = Abs(x);
  if (Eq(a, __builtin_huge_val())) return 0.0;
  if (a < 0x1p-30) return 1.0;
  int quadrant, exponent;
  const Triple r = QuadrantRemainder(a, quadrant);
  const double fraction = Fraction(a, exponent);
  return Rounded(Div(SineOfQuadrant(r, quadrant), {fraction, 0.0, 0.0}), -exponent);
}
