// SPDX-License-Identifier: MIT
// The accurate steps of the roots: each is the function itself, for every finite argument that is not 0.

REPDL_ACCURATE double Rsqrt(double x) {
  if (!(x > 0.0) || x > 0x1.fffffffffffffp+1023) return Div(1.0, Sqrt(x));
  int exponent;
  double fraction = Fraction(x, exponent);
  if ((exponent & 1) != 0) {
    fraction = Add(fraction, fraction);
    exponent -= 1;
  }
  return Rounded(Div({1.0, 0.0, 0.0}, Sqrt({fraction, 0.0, 0.0})), -exponent / 2);
}

REPDL_ACCURATE double Cbrt(double x) {
  const double a = Abs(x);
  if (!(a > 0.0) || a > 0x1.fffffffffffffp+1023) return x;
  int exponent;
  double fraction = Fraction(a, exponent);
  const int third = (exponent + 1200) / 3 - 400;
  fraction = Mul(fraction, PowerOfTwo(exponent - 3 * third));
  // By Newton's method: y + (x - y^3) / (3 y^2), whose error is (rest / y)^2.
  Triple y{scalar::CbrtWide()(Tag<double>(), fraction), 0.0, 0.0};
  for (int i = 0; i < 2; ++i) {
    const Triple square = Mul(y, y);
    const Triple rest = Add(Neg(Mul(square, y)), fraction);
    y = Add(y, Div(rest, Mul(square, 3.0)));
  }
  return CopySign(Rounded(y, third), x);
}

/// The sign of x^2 + y^2 - (high + middle)^2, exact where high + middle is x or so and a midpoint of doubles.
REPDL_ACCURATE_PART double HypotDifference(double x, double y, double high, double middle) {
  Triple difference = Add(Square(x), Neg(Square(high)));
  difference = Add(difference, Mul(Mul(high, middle), -2.0));
  difference = Add(difference, Neg(Square(middle)));
  return Add(difference, Square(y)).high;
}

REPDL_ACCURATE double Hypot(double x, double y) {
  x = Abs(x);
  y = Abs(y);
  if (Eq(x, __builtin_huge_val()) || Eq(y, __builtin_huge_val())) return __builtin_huge_val();
  if (NotEq(x, x) || NotEq(y, y)) return Add(x, y);
  const double larger = x < y ? y : x, smaller = x < y ? x : y;
  if (Eq(smaller, 0.0)) return larger;
  int exponent, smaller_exponent;
  const double u = Fraction(larger, exponent);
  double v = Fraction(smaller, smaller_exponent);
  const int distance = exponent - smaller_exponent;
  v = Mul(v, PowerOfTwo(distance > 200 ? -200 : -distance));  // the result is the same
  Triple root = Sqrt(Add(Square(u), Square(v)));
  // Of a midpoint, or what is next to one, the last part is the error of the steps.
  const double tiny = Mul(root.high, 0x1p-130);
  if (Abs(root.low) < tiny) {
    const double difference = HypotDifference(u, v, root.high, root.middle);
    root.low = Eq(difference, 0.0) ? 0.0 : CopySign(Mul(tiny, 0x1p-30), difference);
  }
  return Rounded(root, exponent);
}
