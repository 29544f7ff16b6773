// SPDX-License-Identifier: MIT
// Inverse functions, of doubles: those of float32 are rounded from them once.

/// Divides a number whose roots' products might overflow by 4, and gives log(4) for it, or 0.
struct ComplexHeld {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V& x, V& y, V& log_of_scale) const {
    const auto is_huge = Ge(Maximum(Abs(x), Abs(y)), Set(d, 0x1p1000));
    const V scale = IfThenElse(is_huge, Set(d, 0.25), Set(d, 1));
    log_of_scale = IfThenElseZero(is_huge, Set(d, 0x1.62e42fefa39efp+0));
    x = Mul(x, scale);
    y = Mul(y, scale);
  }
};

/// The roots of 1 - z and of 1 + z.
struct ComplexRoots {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& p, V& q, V& r, V& s) const {
    const V one = Set(d, 1);
    ComplexSqrt()(d, Sub(one, x), Neg(y), p, q);
    ComplexSqrt()(d, Add(one, x), y, r, s);
  }
};

/*! complex_asin
Of `x + yi` in the last dimension, of size 2, by Kahan's formula: with `p + qi` the `complex_sqrt` of `(1 - x) - yi` and
`r + si` that of `(1 + x) + yi`, it is `atan2(x, p * r - q * s) + asinh(p * s - q * r) i`. Each step is rounded to float64,
and the parts of the result to the type of `input`. The second argument of atan2 is NaN where y is; else, for an infinite x,
+inf if y is infinite and else +0. Where x or y is infinite, the argument of asinh is `|x| + |y|` with the sign of y. Where |x|
or |y| is at least 2^1000, both are divided by 4 first, and log(4), rounded, with the sign of the asinh is added to it.
*/
struct ComplexAsin {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& real, V& imaginary) const {
    const V infinity = Inf(d);
    V p, q, r, s, log_of_scale;
    ComplexHeld()(d, x, y, log_of_scale);
    const auto x_infinite = Eq(Abs(x), infinity), y_infinite = Eq(Abs(y), infinity);
    ComplexRoots()(d, x, y, p, q, r, s);
    V beside = IfThenElse(x_infinite, IfThenElseZero(y_infinite, infinity), Sub(Mul(p, r), Mul(q, s)));
    beside = IfThenElse(IsNaN(y), y, beside);
    const V far = CopySign(Add(Abs(x), Abs(y)), y);
    const V size = IfThenElse(Or(x_infinite, y_infinite), far, Sub(Mul(p, s), Mul(q, r)));
    real = RealAtan2(d, x, beside);
    const V part = RealAsinh(d, size);
    imaginary = Add(part, CopySign(log_of_scale, part));
  }
};

/*! complex_acos
With the roots of `complex_asin`, `atan2(p, r) * 2 + asinh(r * q - s * p) i`, each step rounded to float64 and the parts of
the result to the type of `input`. Where both parts are infinite, the real part is pi / 4, left of 0 3 pi / 4. Huge numbers are
divided by 4 as there.
*/
struct ComplexAcos {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& real, V& imaginary) const {
    const V infinity = Inf(d);
    V p, q, r, s, log_of_scale;
    ComplexHeld()(d, x, y, log_of_scale);
    ComplexRoots()(d, x, y, p, q, r, s);
    const V corner = IfThenElse(Lt(x, Zero(d)), Set(d, 0x1.2d97c7f3321d2p+1), Set(d, 0x1.921fb54442d18p-1));
    const auto is_corner = And(Eq(Abs(x), infinity), Eq(Abs(y), infinity));
    real = IfThenElse(is_corner, corner, Mul(RealAtan2(d, p, r), Set(d, 2)));
    const V part = RealAsinh(d, Sub(Mul(r, q), Mul(s, p)));
    imaginary = Add(part, CopySign(log_of_scale, part));
  }
};

/*! complex_acosh
With `u + vi` the `complex_acos` in float64, `|v| + ui`, u with the sign of the imaginary part of the operand; rounded to the
type of `input`.
*/
struct ComplexAcosh {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& real, V& imaginary) const {
    V u, v;
    ComplexAcos()(d, x, y, u, v);
    real = Abs(v);
    imaginary = CopySign(u, y);
  }
};

/*! complex_asinh
With `u + vi` the `complex_asin` of `-y + xi` in float64, `v - ui`; rounded to the type of `input`.
*/
struct ComplexAsinh {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& real, V& imaginary) const {
    V turned;
    ComplexAsin()(d, Neg(y), x, turned, real);
    imaginary = Neg(turned);
  }
};

/*! complex_atanh
Of `x + yi`, with `h = |x|`: the real part is `log1p(4 h / ((1 - h) * (1 - h) + y * y)) * 0.25` with the sign of x, the
imaginary part `atan2(2 y, (1 - h) * (1 + h) - y * y) * 0.5`. Each step is rounded to float64, and the parts of the result to
the type of `input`.

- For h = 1 and |y| below 1e-100, the real part is `(log(2) - log(|y|)) * 0.5`, with log(2) rounded.
- Where the larger l of h and |y| is above 1e100, it is `h / l / l / (1 + q * q)` with q the smaller one over l, or 0 for an
  infinite l; and the imaginary part is pi / 2 with the sign of y.
- Both are NaN where x or y is NaN.
*/
struct ComplexAtanh {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& real, V& imaginary) const {
    const V one = Set(d, 1), infinity = Inf(d), half = Set(d, 0.5);
    const V size = Abs(x), height = Abs(y);
    const V larger = Maximum(size, height), smaller = Min(size, height);
    const auto is_far = Gt(larger, Set(d, 1e100)), is_infinite = Eq(larger, infinity);
    const V held = IfThenElse(is_far, one, size), beside = IfThenElse(is_far, one, y);
    const V below = Sub(one, held), square = Mul(beside, beside);
    V part = Mul(RealLog1p(d, Div(Mul(held, Set(d, 4)), Add(Mul(below, below), square))), Set(d, 0.25));
    const auto at_pole = And(Eq(held, one), Lt(Abs(beside), Set(d, 1e-100)));
    if (Any(d, at_pole)) {
      const V log_of_two = Set(d, 0x1.62e42fefa39efp-1);
      part = IfThenElse(at_pole, Mul(Sub(log_of_two, RealLog(d, IfThenElse(at_pole, height, one))), half), part);
    }
    V angle = Mul(RealAtan2(d, Add(beside, beside), Sub(Mul(below, Add(one, held)), square)), half);
    if (Any(d, is_far)) {
      const V ratio = IfThenZeroElse(is_infinite, Div(smaller, larger));
      const V inverse = Div(Div(Div(size, larger), larger), Add(one, Mul(ratio, ratio)));
      part = IfThenElse(is_far, IfThenZeroElse(is_infinite, inverse), part);
      angle = IfThenElse(is_far, CopySign(Set(d, 0x1.921fb54442d18p+0), y), angle);
    }
    real = CopySign(part, x);
    imaginary = angle;
  }
};

/*! complex_atan
With `u + vi` the `complex_atanh` of `-y + xi` in float64, `v - ui`; rounded to the type of `input`.
*/
struct ComplexAtan {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V x, V y, V& real, V& imaginary) const {
    V turned;
    ComplexAtanh()(d, Neg(y), x, turned, real);
    imaginary = Neg(turned);
  }
};
