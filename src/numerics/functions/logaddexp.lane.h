// SPDX-License-Identifier: MIT
/*! logaddexp
`log(exp(x) + exp(y))`, correctly rounded. That is tested, not proven: on hard cases, special values and more than 10^9
random pairs. logaddexp(-inf, y) = y, but +0 for y = -0; logaddexp(+inf, y) = +inf; NaN if x or y is NaN.
*/

// In double, max + log1p(exp(min - max)), with a relative error below 2^-41 where the sum does not cancel. Where it
// does, or is too near a midpoint, in about 106 bits.
struct LogaddexpWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const V one = Set(d, 1.0);
    const auto swap = Lt(x, y);
    const V larger = IfThenElse(swap, y, x), smaller = IfThenElse(swap, x, y);
    // Below the limit the tail matters only by being positive.
    const V t = ExpOf(d, Limit(Sub(smaller, larger), Set(d, -200.0), Zero(d)));
    const V u = Add(t, one);
    // ln(u) and what the rounding of u lost.
    const V tail = Add(QuickYLog2(d, Set(d, 0x1.62e42fefa39efp-5), u), Sub(t, Sub(u, one)));
    V z = Add(larger, tail);
    const V magnitude = Abs(z);
    const auto cancels = Lt(magnitude, Mul(Abs(larger), Set(d, 0x1p-7)));
    if (Any(d, Or(HardToRound(d, magnitude), cancels))) {
      const auto hard = Or(And(HardToRound(d, magnitude), NotTiny(d, magnitude)), cancels);
      if (Any(d, hard)) z = IfThenElse(hard, Slow(d, larger, smaller, tail), z);
      z = IfThenElse(And(IsNaN(z), Eq(x, y)), x, z);  // infinities
    }
    return z;
  }

  /// `tail` is a guess of log1p(exp(smaller - larger)).
  template <class D, class V>
  static REPDL_LANE V Slow(D d, V larger, V smaller, V tail) {
    V difference_low, t_low, tail_low, low, scale;
    V difference = TwoSum(smaller, Neg(larger), difference_low);
    const V limit = Set(d, -200.0);
    const auto beyond = Lt(difference, limit);
    difference = IfThenElse(beyond, limit, difference);
    difference_low = IfThenZeroElse(beyond, difference_low);
    const V t = ExpSlow(d, difference, difference_low, t_low, scale);
    tail = Log1pSlow(d, Mul(t, scale), Mul(t_low, scale), tail, tail_low);
    const V high = AddSlow(larger, Zero(d), tail, tail_low, low);
    return RoundToOdd(high, low);
  }
};

template <class V>
REPDL_LANE V Logaddexp(V x, V y) {
  return ViaDouble(LogaddexpWide(), x, y);
}
