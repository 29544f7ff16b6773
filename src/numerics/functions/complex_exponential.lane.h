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

/*! complex_sigmoid_grad
`grad_output` times the conjugate of `(1 - y) * y`, with y the numbers of `output`. Products are those of `complex_mul`, and the parts
of `1 - y` differences from 1 and from 0. The operands are broadcast.
*/
struct ComplexSigmoidGrad {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V y, V z, V& real, V& imaginary) const {
    V slope_real, slope_imaginary;
    ComplexMul()(d, Sub(Set(d, 1), y), Sub(Zero(d), z), y, z, slope_real, slope_imaginary);
    ComplexMul()(d, a, b, slope_real, Neg(slope_imaginary), real, imaginary);
  }
};

/*! complex_silu
The number times its `complex_sigmoid`, a product as that of `complex_mul`.
*/
struct ComplexSilu {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    V factor_real, factor_imaginary;
    ComplexSigmoid()(d, a, b, factor_real, factor_imaginary);
    ComplexMul()(d, a, b, factor_real, factor_imaginary, real, imaginary);
  }
};

/*! complex_silu_grad
`grad_output` times the conjugate of `s * (z * (1 - s) + 1)`, with z the numbers of `input` and s their `complex_sigmoid`.
Products are those of `complex_mul`; the parts of `1 - s` are differences from 1 and from 0, and sums are those of 1 and +0 with
the parts. The operands are broadcast.
*/
struct ComplexSiluGrad {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V x, V y, V& real, V& imaginary) const {
    const V one = Set(d, 1), zero = Zero(d);
    V s, t, u, v;
    ComplexSigmoid()(d, x, y, s, t);
    ComplexMul()(d, x, y, Sub(one, s), Sub(zero, t), u, v);
    V slope_real, slope_imaginary;
    ComplexMul()(d, s, t, Add(u, one), Add(v, zero), slope_real, slope_imaginary);
    ComplexMul()(d, a, b, slope_real, Neg(slope_imaginary), real, imaginary);
  }
};
