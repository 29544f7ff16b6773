// SPDX-License-Identifier: MIT

/*! complex_sinc
`sin(pi z) / (pi z)` of z = x + yi in the last dimension, of size 2, in float64, each step rounded, and the parts in the end to
the type of `input`. With a = |x| and b = |y|, the result is p + qi, q times the signs of x and of y, and no zero of it is -0. p1
and p2 are pi and pi², rounded, and p0 is pi - p1, rounded.

- For a and b below 1/4: with w = `(a - b) * (a + b) * p2 + (a * b * 2 * p2) i`, products from left to right, s is at first 1/21! + 0i;
  then, for c = -1/19!, 1/17!, … -1/3! and 1, it is the `complex_mul` of s and w, with c added to the real part. p + qi is
  the last s.
- Else n is a, rounded to the nearest integer, ties to even, f = a - n, and g = |f|, or 0.5 - |f| for |f| above 1/4. With h =
  `g * p1` and l = `fma(g, p0, fma(g, p1, -h))`, u = `fma(l, cos(h), sin(h))` and v = `fma(-l, sin(h), cos(h))`, exchanged for |f| above
  1/4. u takes the sign of f, and both take the other sign for odd n.
- With t = `b * p1` and m = `fma(b, p0, fma(b, p1, -t))`, c = `fma(m, sinh(t), cosh(t))`, s = `fma(m, cosh(t), sinh(t))` and e = 1. For t
  above 600, m is `b - b` if t is above 2800, r = `exp(min(t, 2800) * 0.25)`, e = `fma(r, m * 0.25, r)` and c = s = `e * 0.5`.
- p + qi is the `complex_div` of `u * c + (v * s) i` by a + bi, both parts over p1, and then times e, three times.
*/
struct ComplexSinc {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& real, V& imaginary) const {
    const V zero = Zero(d), one = Set(d, 1), quarter = Set(d, 0.25), a = Abs(x), b = Abs(y);
    const auto is_near = And(Lt(a, quarter), Lt(b, quarter));
    Away(d, IfThenElse(is_near, one, a), IfThenElse(is_near, one, b), real, imaginary);
    if (Any(d, is_near)) {
      V p, q;
      Near(d, IfThenElseZero(is_near, a), IfThenElseZero(is_near, b), p, q);
      real = IfThenElse(is_near, p, real);
      imaginary = IfThenElse(is_near, q, imaginary);
    }
    real = Add(real, zero);
    imaginary = Add(Mul(Mul(imaginary, CopySign(one, x)), CopySign(one, y)), zero);
  }

  template <class D, class V>
  static REPDL_LANE void Near(D d, V a, V b, V& real, V& imaginary) {
    const V square = Set(d, 0x1.3bd3cc9be45dep+3);
    const V u = Mul(Mul(Sub(a, b), Add(a, b)), square), v = Mul(Mul(Mul(a, b), Set(d, 2)), square);
    real = Set(d, 0x1.71b8ef6dcf572p-66);
    imaginary = Zero(d);
    TakeIn(d, -0x1.2f49b46814157p-57, u, v, real, imaginary);
    TakeIn(d, 0x1.952c77030ad4ap-49, u, v, real, imaginary);
    TakeIn(d, -0x1.ae7f3e733b81fp-41, u, v, real, imaginary);
    TakeIn(d, 0x1.6124613a86d09p-33, u, v, real, imaginary);
    TakeIn(d, -0x1.ae64567f544e4p-26, u, v, real, imaginary);
    TakeIn(d, 0x1.71de3a556c734p-19, u, v, real, imaginary);
    TakeIn(d, -0x1.a01a01a01a01ap-13, u, v, real, imaginary);
    TakeIn(d, 0x1.1111111111111p-7, u, v, real, imaginary);
    TakeIn(d, -0x1.5555555555555p-3, u, v, real, imaginary);
    TakeIn(d, 1, u, v, real, imaginary);
  }

  template <class D, class V>
  static REPDL_LANE void TakeIn(D d, double c, V u, V v, V& real, V& imaginary) {
    V p, q;
    ComplexMul()(d, real, imaginary, u, v, p, q);
    real = Add(p, Set(d, c));
    imaginary = q;
  }

  template <class D, class V>
  static REPDL_LANE void Away(D d, V a, V b, V& real, V& imaginary) {
    const V zero = Zero(d), half = Set(d, 0.5), quarter = Set(d, 0.25);
    const V pi = Set(d, 0x1.921fb54442d18p+1), pi_low = Set(d, 0x1.1a62633145c07p-53);
    const V n = Round(a), f = Sub(a, n), size = Abs(f);
    const auto is_odd = NotEq(Fma(Round(Mul(n, half)), Set(d, -2), n), zero);
    const auto turned = Gt(size, quarter);
    const V g = IfThenElse(turned, Sub(half, size), size);
    const V h = Mul(g, pi), l = Fma(g, pi_low, Fma(g, pi, Neg(h)));
    const V sin = RealSin(d, h), cos = RealCos(d, h);
    const V small = Fma(l, cos, sin), large = Fma(Neg(l), sin, cos);
    V u = CopySign(IfThenElse(turned, large, small), f), v = IfThenElse(turned, small, large);
    u = IfThenElse(is_odd, Neg(u), u);
    v = IfThenElse(is_odd, Neg(v), v);

    const V t = Mul(b, pi), limit = Set(d, 2800);
    V m = Fma(b, pi_low, Fma(b, pi, Neg(t)));
    const V sinh = RealSinh(d, t), cosh = RealCosh(d, t);
    V c = Fma(m, sinh, cosh), s = Fma(m, cosh, sinh), e = Set(d, 1);
    const auto is_far = Gt(t, Set(d, 600));
    if (Any(d, is_far)) {
      m = Mul(IfThenElse(Gt(t, limit), Sub(b, b), m), quarter);
      const V r = RealExp(d, Mul(IfThenElse(Gt(t, limit), limit, t), quarter));
      e = IfThenElse(is_far, Fma(r, m, r), e);
      c = IfThenElse(is_far, Mul(e, half), c);
      s = IfThenElse(is_far, c, s);
    }
    V p, q;
    ComplexDiv()(d, Mul(u, c), Mul(v, s), a, b, p, q);
    real = Mul(Mul(Mul(Div(p, pi), e), e), e);
    imaginary = Mul(Mul(Mul(Div(q, pi), e), e), e);
  }
};
