// SPDX-License-Identifier: MIT
// Complex numbers are pairs of a real and an imaginary part. A function of them takes the parts of its operands and gives
// those of the result, by steps of real numbers that round once each; `d` is the tag of floats or of doubles.

/*! complex_add
Complex numbers are pairs in a last dimension of size 2. With `a + bi` the numbers of `input` and `c + di` those of `other`,
`(a + c) + (b + d)i`. The operands are broadcast.
*/
struct ComplexAdd {
  template <class D, class V>
  REPDL_LANE void operator()(D, V a, V b, V c, V d, V& real, V& imaginary) const {
    real = Add(a, c);
    imaginary = Add(b, d);
  }
};

/*! complex_sub
As `complex_add`, with differences.
*/
struct ComplexSub {
  template <class D, class V>
  REPDL_LANE void operator()(D, V a, V b, V c, V d, V& real, V& imaginary) const {
    real = Sub(a, c);
    imaginary = Sub(b, d);
  }
};

/*! complex_neg
Both parts with the other sign.
*/
struct ComplexNeg {
  template <class D, class V>
  REPDL_LANE void operator()(D, V a, V b, V& real, V& imaginary) const {
    real = Neg(a);
    imaginary = Neg(b);
  }
};

/*! complex_mul
Complex numbers are pairs in a last dimension of size 2. With `a + bi` the numbers of `input` and `c + di` those of `other`,
`(ac - bd) + (ad + bc)i`, each product, difference and sum rounded once. The operands are broadcast.
*/
struct ComplexMul {
  template <class D, class V>
  REPDL_LANE void operator()(D, V a, V b, V c, V d, V& real, V& imaginary) const {
    real = Sub(Mul(a, c), Mul(b, d));
    imaginary = Add(Mul(a, d), Mul(b, c));
  }
};

/*! complex_div
The quotient of `a + bi` by `c + di`, by Smith's method, each step rounded once. Unless `|c| < |d|`, with `r = d / c` and
`e = c + dr`, it is `(a + br) / e + ((b - ar) / e) i`; else, with `r = c / d` and `e = d + cr`, it is `(b + ar) / e -
((a - br) / e) i`. By 0 it is `a / +0 + (b / +0) i`. The operands are broadcast.
*/
struct ComplexDiv {
  template <class D, class V>
  REPDL_LANE void operator()(D tag, V a, V b, V c, V d, V& real, V& imaginary) const {
    const auto turned = Lt(Abs(c), Abs(d));
    const V larger = IfThenElse(turned, d, c), smaller = IfThenElse(turned, c, d);
    const V first = IfThenElse(turned, b, a), second = IfThenElse(turned, a, b);
    const V ratio = Div(smaller, larger);
    const auto by_zero = Eq(larger, Zero(tag));
    const V denominator = IfThenElse(by_zero, Abs(larger), Add(larger, Mul(smaller, ratio)));
    const V straight = Sub(second, Mul(first, ratio));
    real = Div(IfThenElse(by_zero, a, Add(first, Mul(second, ratio))), denominator);
    imaginary = Div(IfThenElse(by_zero, b, IfThenElse(turned, Neg(straight), straight)), denominator);
  }
};

/*! complex_reciprocal
`complex_div` of 1 + 0i by the number.
*/
struct ComplexReciprocal {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    ComplexDiv()(d, Set(d, 1), Zero(d), a, b, real, imaginary);
  }
};

/*! complex_sgn
The number `a + bi` over its size: `a / h + (b / h) i` with `h = hypot(a, b)`; +0 + 0i where h is 0.
*/
struct ComplexSgn {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V size = RealHypot(d, a, b);
    const auto is_zero = Eq(size, Zero(d));
    real = IfThenZeroElse(is_zero, Div(a, size));
    imaginary = IfThenZeroElse(is_zero, Div(b, size));
  }
};
