// SPDX-License-Identifier: MIT
// The numbers of linear algebra, real or complex, which are computed in double, and their steps in lane words.

/// re + im i, plus the product of a + b i and c + d i, by four steps: what `Less` of `complex_lu` takes, with other signs.
template <class V>
REPDL_LANE void TakeInProduct(V a, V b, V c, V d, V& re, V& im) {
  re = Fma(Neg(b), d, Fma(a, c, re));
  im = Fma(b, c, Fma(a, d, im));
}
/// The same of the conjugate of a + b i.
template <class V>
REPDL_LANE void TakeInConjugate(V a, V b, V c, V d, V& re, V& im) {
  re = Fma(b, d, Fma(a, c, re));
  im = Fma(Neg(b), c, Fma(a, d, im));
}

struct Complex {
  double re, im;
};

REPDL_LANE double RealPart(double x) { return x; }
REPDL_LANE double RealPart(const Complex& x) { return x.re; }

REPDL_LANE double Conjugate(double x) { return x; }
REPDL_LANE Complex Conjugate(const Complex& x) { return {x.re, Neg(x.im)}; }

REPDL_LANE double Negated(double x) { return Neg(x); }
REPDL_LANE Complex Negated(const Complex& x) { return {Neg(x.re), Neg(x.im)}; }

/// What pivots are chosen by.
REPDL_LANE double SizeOf(double x) { return Abs(x); }
REPDL_LANE double SizeOf(const Complex& x) { return Add(Abs(x.re), Abs(x.im)); }

REPDL_LANE bool IsZero(double x) { return x == 0.0; }
REPDL_LANE bool IsZero(const Complex& x) { return x.re == 0.0 && x.im == 0.0; }

REPDL_LANE double Plus(double x, double y) { return Add(x, y); }
REPDL_LANE Complex Plus(const Complex& x, const Complex& y) { return {Add(x.re, y.re), Add(x.im, y.im)}; }

REPDL_LANE double Minus(double x, double y) { return Sub(x, y); }
REPDL_LANE Complex Minus(const Complex& x, const Complex& y) { return {Sub(x.re, y.re), Sub(x.im, y.im)}; }

REPDL_LANE double Times(double x, double y) { return Mul(x, y); }
REPDL_LANE Complex Times(const Complex& x, double y) { return {Mul(x.re, y), Mul(x.im, y)}; }
REPDL_LANE Complex Times(const Complex& x, const Complex& y) {
  Complex product;
  PartsOfOne<ComplexMul>(product.re, product.im, x.re, x.im, y.re, y.im);
  return product;
}

REPDL_LANE double Quotient(double x, double y) { return Div(x, y); }
REPDL_LANE Complex Quotient(const Complex& x, double y) { return {Div(x.re, y), Div(x.im, y)}; }
REPDL_LANE Complex Quotient(const Complex& x, const Complex& y) {
  Complex quotient;
  PartsOfOne<ComplexDiv>(quotient.re, quotient.im, x.re, x.im, y.re, y.im);
  return quotient;
}

/// x + a b
REPDL_LANE double PlusProduct(double x, double a, double b) { return Fma(a, b, x); }
REPDL_LANE Complex PlusProduct(Complex x, const Complex& a, const Complex& b) {
  TakeInProduct(a.re, a.im, b.re, b.im, x.re, x.im);
  return x;
}
/// x + conj(a) b
REPDL_LANE double PlusConjugate(double x, double a, double b) { return Fma(a, b, x); }
REPDL_LANE Complex PlusConjugate(Complex x, const Complex& a, const Complex& b) {
  TakeInConjugate(a.re, a.im, b.re, b.im, x.re, x.im);
  return x;
}
/// x - a b
template <class Number>
REPDL_LANE Number Less(const Number& x, const Number& a, const Number& b) {
  return PlusProduct(x, Negated(a), b);
}
/// The sum and the squares of the parts.
REPDL_LANE double PlusSquares(double sum, double x) { return Fma(x, x, sum); }
REPDL_LANE double PlusSquares(double sum, const Complex& x) { return PlusSquares(PlusSquares(sum, x.re), x.im); }
/// The squares of a number.
REPDL_LANE double SquaresOf(const Complex& x) { return Fma(x.re, x.re, Mul(x.im, x.im)); }

REPDL_LANE double LargestPart(double largest, double x) { return Abs(x) > largest ? Abs(x) : largest; }
REPDL_LANE double LargestPart(double largest, const Complex& x) {
  return LargestPart(LargestPart(largest, x.re), x.im);
}

REPDL_LANE void SetNumber(double& x, double value) { x = value; }
REPDL_LANE void SetNumber(Complex& x, double value) { x = {value, 0.0}; }

struct HypotOfParts {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V re, V im) const {
    return RealHypot(d, re, im);
  }
};
REPDL_LANE double HypotOf(const Complex& x) { return OfOne<HypotOfParts>(x.re, x.im); }

REPDL_LANE int64_t BitsOf(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
REPDL_LANE double OfBits(int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
/// For k from -1022 to 1023.
REPDL_LANE double PowerOf2(int64_t k) { return OfBits((1023 + k) << 52); }

/// Whether a number is chosen instead of an earlier one: the first of the largest is, NaN before all numbers.
REPDL_LANE bool IsLarger(double size, double earlier) { return earlier == earlier && !(size <= earlier); }

/// The first of the largest sizes of some numbers.
struct Largest {
  double size;
  int64_t place;

  REPDL_LANE bool IsBefore(const Largest& other) const {
    return IsLarger(size, other.size) || (!IsLarger(other.size, size) && place < other.place);
  }
};
