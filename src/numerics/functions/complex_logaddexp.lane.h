// SPDX-License-Identifier: MIT

/*! complex_logaddexp
`log(exp(x) + exp(y))` of the numbers x of `input` and y of `other`, in the last dimension, of size 2, in float64, each step
rounded, and the parts in the end to the type of `input`. l is y if its real part is larger than that of x, else x, and s the
other one. With a + bi = s - l, a' and b' what was lost in rounding a and b, and h = `fma(exp(a), a', exp(a))`, the result is
`complex_log1p(h * fma(-b', sin(b), cos(b)) + h * fma(b', cos(b), sin(b)) i) + l`, so that its imaginary part is at most pi / 2
away from that of l; it is l where exp(a) is 0.

- Where both real parts are +inf it is the `complex_log` of the sum of the `complex_exp`s of s and l; where both are -inf it is y.
- Both parts are NaN where a part of x or y is NaN. The operands are broadcast.
*/
struct ComplexLogaddexp {
  template <class D, class V>
  REPDL_LANE void operator()(D tag, V a, V b, V c, V d, V& real, V& imaginary) const {
    const V infinity = Inf(tag);
    const auto swap = Lt(a, c);
    const V l = IfThenElse(swap, c, a), l_imaginary = IfThenElse(swap, d, b);
    const V s = IfThenElse(swap, a, c), s_imaginary = IfThenElse(swap, b, d);
    const auto at_top = Eq(s, infinity), at_bottom = Eq(l, Neg(infinity));
    OfOthers(tag, s, s_imaginary, l, l_imaginary, real, imaginary);
    if (Any(tag, at_top)) {
      V p, q;
      OfInfinities(tag, b, d, p, q);
      real = IfThenElse(at_top, p, real);
      imaginary = IfThenElse(at_top, q, imaginary);
    }
    real = IfThenElse(at_bottom, c, real);
    imaginary = IfThenElse(at_bottom, d, imaginary);
    const V both = Add(Add(a, b), Add(c, d));
    const auto is_nan = Or(Or(IsNaN(a), IsNaN(b)), Or(IsNaN(c), IsNaN(d)));
    real = IfThenElse(is_nan, both, real);
    imaginary = IfThenElse(is_nan, both, imaginary);
  }

  template <class D, class V>
  static REPDL_LANE void OfOthers(D d, V s, V s_imaginary, V l, V l_imaginary, V& real, V& imaginary) {
    V lost, turn_lost, p, q;
    const V difference = TwoSum(s, Neg(l), lost), turn = TwoSum(s_imaginary, Neg(l_imaginary), turn_lost);
    const V exp = RealExp(d, difference), cos = RealCos(d, turn), sin = RealSin(d, turn);
    const auto is_none = Eq(exp, Zero(d));
    const V size = Fma(exp, lost, exp);
    ComplexLog1p()(d, IfThenZeroElse(is_none, Mul(size, Fma(Neg(turn_lost), sin, cos))),
                   IfThenZeroElse(is_none, Mul(size, Fma(turn_lost, cos, sin))), p, q);
    real = IfThenElse(is_none, l, Add(p, l));
    imaginary = IfThenElse(is_none, l_imaginary, Add(q, l_imaginary));
  }

  /// Of `inf + b i` and `inf + d i`.
  template <class D, class V>
  static REPDL_LANE void OfInfinities(D tag, V b, V d, V& real, V& imaginary) {
    V p, q, r, s;
    ComplexExp()(tag, Inf(tag), b, p, q);
    ComplexExp()(tag, Inf(tag), d, r, s);
    ComplexLog()(tag, Add(p, r), Add(q, s), real, imaginary);
  }
};
