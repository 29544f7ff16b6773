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

// max + log1p(e^(min - max)), where the sum may cancel.
struct LogaddexpFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x, V y) {
    const auto swap = Lt(x, y);
    const V larger = IfThenElse(swap, y, x), smaller = IfThenElse(swap, x, y), zero = Zero(d);
    // Both parts of the sum may be tiny.
    const auto tiny = Lt(Abs(larger), Set(d, 0x1p-100));
    const V lift = IfThenElseZero(tiny, Set(d, 900.0));
    N difference = Plus(Exactly<N>(d, smaller), Exactly<N>(d, Neg(larger)));
    difference = Choose(Gt(V(difference.high), Set(d, -800.0)), difference, Exactly<N>(d, Set(d, -800.0)));
    V exponent;
    const N e = ExpOver(d, difference, exponent);
    const N log = Log1pNumber(d, Scaled(e, PowerOfTwo(d, Limit(exponent, Set(d, -300.0), zero))));
    const auto far = Lt(V(difference.high), Set(d, -120.0));
    const N moved =
        Scaled(e, PowerOfTwo(d, Add(lift, Limit(exponent, IfThenElse(tiny, Set(d, -1200.0), Set(d, -300.0)), zero))));
    const N tail = Choose(far, moved, Scaled(log, PowerOfTwo(d, lift)));
    n = Neg(lift);
    return Plus(Exactly<N>(d, Mul(larger, PowerOfTwo(d, lift))), tail);
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V x, V y) {
    const V larger = IfThenElse(Lt(x, y), y, x);
    return Add(Abs(sum), Mul(Abs(larger), PowerOfTwo(d, Neg(n))));
  }
};

struct LogaddexpDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const V infinity = Inf(d);
    V z = Correctly<LogaddexpFormula>(d, x, y);
    z = IfThenElse(Or(Eq(x, y), Eq(x, infinity)), IfThenElse(Eq(Abs(x), infinity), x, z), z);
    z = IfThenElse(Eq(y, infinity), y, z);
    return IfThenElse(Or(IsNaN(x), IsNaN(y)), Add(x, y), z);
  }
};
