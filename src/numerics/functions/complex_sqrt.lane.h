// SPDX-License-Identifier: MIT

/*! complex_sqrt
Of `a + bi` in the last dimension, of size 2, with `t = sqrt((hypot(a, b) + |a|) * 0.5)` and `u = |b| / (2 t)`, which is +0
where t is 0 or a or b infinite: `t ± u i` for a >= 0, else `u ± t i`, with the sign of b, which is plus of a NaN; u is t
where b is infinite. Each step is rounded to the type of `input`. Where the larger of |a| and |b| is above 2^100, t and u are
those of `a 2^-20 + b 2^-20 i`, times 2^10; where it is below 2^-60, those of `a 2^60 + b 2^60 i`, times 2^-30.
*/
struct ComplexSqrt {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V zero = Zero(d), one = Set(d, 1), infinity = Inf(d);
    const V largest = IfThenElse(IsNaN(a), a, IfThenElse(IsNaN(b), b, Max(Abs(a), Abs(b))));
    const auto is_large = Gt(largest, Set(d, 0x1p100f)), is_small = Lt(largest, Set(d, 0x1p-60f));
    const V scale = IfThenElse(is_large, Set(d, 0x1p-20f), IfThenElse(is_small, Set(d, 0x1p60f), one));
    const V back = IfThenElse(is_large, Set(d, 0x1p10f), IfThenElse(is_small, Set(d, 0x1p-30f), one));
    const V x = Abs(Mul(a, scale)), y = Abs(Mul(b, scale));
    V t = Sqrt(Mul(Add(RealHypot(d, x, y), x), Set(d, 0.5)));
    V u = IfThenZeroElse(Or(Eq(t, zero), Eq(largest, infinity)), Div(y, Add(t, t)));
    t = Mul(t, back);
    u = IfThenElse(Eq(Abs(b), infinity), t, Mul(u, back));
    const auto left = Lt(a, zero);
    real = IfThenElse(left, u, t);
    imaginary = CopySign(IfThenElse(left, t, u), WithASign(d, b));
  }
};

/*! complex_rsqrt
`complex_reciprocal` of `complex_sqrt`.
*/
struct ComplexRsqrt {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    V x, y;
    ComplexSqrt()(d, a, b, x, y);
    ComplexReciprocal()(d, x, y, real, imaginary);
  }
};
