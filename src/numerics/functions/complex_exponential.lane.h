// SPDX-License-Identifier: MIT

/*! complex_exp
Of `a + bi` in the last dimension, of size 2: `exp(a) * cos(b) + exp(a) * sin(b) i`, where functions and products are
rounded to the type of `input`; an imaginary part of ±0 stays as it is.
*/
struct ComplexExp {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V size = RealExp(d, a);
    real = Mul(size, RealCos(d, b));
    imaginary = IfThenElse(Eq(b, Zero(d)), b, Mul(size, RealSin(d, b)));
  }
};

/*! complex_exp2
`complex_exp` of `a * c + b * c i`, with c = log(2) rounded to the type of `input`, as are the products.
*/
struct ComplexExp2 {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V factor = Rounded(d, 0x1.62e42fefa39efp-1);
    ComplexExp()(d, Mul(a, factor), Mul(b, factor), real, imaginary);
  }
};

/*! complex_expm1
Of `a + bi`: the real part is `expm1(a) * cos(b) - s * s * 2` with `s = sin(b * 0.5)`, from left to right, each step
rounded; the imaginary part is that of `complex_exp`.
*/
struct ComplexExpm1 {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V sine = RealSin(d, Mul(b, Set(d, 0.5)));
    real = Sub(Mul(RealExpm1(d, a), RealCos(d, b)), Mul(Mul(sine, sine), Set(d, 2)));
    imaginary = IfThenElse(Eq(b, Zero(d)), b, Mul(RealExp(d, a), RealSin(d, b)));
  }
};

/*! complex_sigmoid
With `e = complex_exp(-z)`, `1 / (e + 1)`; left of 0, with `e = complex_exp(z)`, `e / (e + 1)`. Quotients are those of
`complex_div`.
*/
struct ComplexSigmoid {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V one = Set(d, 1), zero = Zero(d);
    const auto left = Lt(a, zero);
    V e_real, e_imaginary;
    ComplexExp()(d, IfThenElse(left, a, Neg(a)), IfThenElse(left, b, Neg(b)), e_real, e_imaginary);
    ComplexDiv()(d, IfThenElse(left, e_real, one), IfThenElse(left, e_imaginary, zero), Add(e_real, one),
                 Add(e_imaginary, zero), real, imaginary);
  }
};
