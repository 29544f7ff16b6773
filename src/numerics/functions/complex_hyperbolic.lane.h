// SPDX-License-Identifier: MIT

/*! complex_sinh
Of `a + bi` in the last dimension, of size 2: `sinh(a) * cos(b) + cosh(a) * sin(b) i`, where functions and products are
rounded to the type of `input`. A real part of ±0 stays as it is, and so does an imaginary part.
*/
struct ComplexSinh {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V zero = Zero(d);
    real = IfThenElse(Eq(a, zero), a, Mul(RealSinh(d, a), RealCos(d, b)));
    imaginary = IfThenElse(Eq(b, zero), b, Mul(RealCosh(d, a), RealSin(d, b)));
  }
};

/*! complex_cosh
Of `a + bi`: `cosh(a) * cos(b) + sinh(a) * sin(b) i`, where functions and products are rounded to the type of `input`. For
b = ±0 the imaginary part is ±0, with the sign of b, changed if that of a is minus and a is no NaN.
*/
struct ComplexCosh {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    real = Mul(RealCosh(d, a), RealCos(d, b));
    const V of_zero = Mul(CopySign(Set(d, 1), WithASign(d, a)), b);
    imaginary = IfThenElse(Eq(b, Zero(d)), of_zero, Mul(RealSinh(d, a), RealSin(d, b)));
  }
};

/*! complex_tanh
Of `a + bi`, with `s = sinh(a)`, `r = cosh(a)`, `t = tan(b)`, `m = t * t + 1` and `e = s * s * m + 1`: `s * r * m / e + (t /
e) i`. Where |a| is above 20, `±1 + 4 * sin(b) * cos(b) * exp(-2 * |a|) i` with the sign of a. Each step, from left to
right, is rounded to the type of `input`.
*/
struct ComplexTanh {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V one = Set(d, 1), limit = Set(d, 20);
    const V held = Limit(a, Neg(limit), limit);
    const V s = RealSinh(d, held), r = RealCosh(d, held), t = RealTan(d, b);
    const V m = Add(Mul(t, t), one), e = Add(Mul(Mul(s, s), m), one);
    real = Div(Mul(Mul(s, r), m), e);
    imaginary = Div(t, e);
    const auto is_far = Gt(Abs(a), limit);
    if (Any(d, is_far)) {
      const V turn = Mul(Mul(Set(d, 4), RealSin(d, b)), RealCos(d, b));
      real = IfThenElse(is_far, CopySign(one, a), real);
      imaginary = IfThenElse(is_far, Mul(turn, RealExp(d, Mul(Abs(a), Set(d, -2)))), imaginary);
    }
  }
};

/*! complex_sin
Of `a + bi`, with `x + yi` the `complex_sinh` of `-b + ai`, `y - xi`.
*/
struct ComplexSin {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    V turned;
    ComplexSinh()(d, Neg(b), a, turned, real);
    imaginary = Neg(turned);
  }
};

/*! complex_cos
`complex_cosh` of `-b + ai`.
*/
struct ComplexCos {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    ComplexCosh()(d, Neg(b), a, real, imaginary);
  }
};

/*! complex_tan
With `x + yi` the `complex_tanh` of `-b + ai`, `y - xi`.
*/
struct ComplexTan {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    V turned;
    ComplexTanh()(d, Neg(b), a, turned, real);
    imaginary = Neg(turned);
  }
};

/*! complex_tanh_grad
`grad_output` times the conjugate of `1 - y * y`, with y the numbers of `output`. Products are those of `complex_mul`, and the parts of
the difference those from 1 and from 0. The operands are broadcast.
*/
struct ComplexTanhGrad {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V y, V z, V& real, V& imaginary) const {
    V square_real, square_imaginary;
    ComplexMul()(d, y, z, y, z, square_real, square_imaginary);
    ComplexMul()(d, a, b, Sub(Set(d, 1), square_real), Neg(Sub(Zero(d), square_imaginary)), real, imaginary);
  }
};
