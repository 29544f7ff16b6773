// SPDX-License-Identifier: MIT
/*! logaddexp2
`log2(2^x + 2^y)`, correctly rounded. That is tested, not proven. logaddexp2(x, x) = x + 1, rounded once;
logaddexp2(-inf, y) = y, but +0 for y = -0; logaddexp2(+inf, y) = +inf; NaN if x or y is NaN.
*/

// In double, max + log2(1 + 2^(min - max)), with a relative error below 2^-41 where the sum does not cancel. Where it
// does, or is too near a midpoint, in about 106 bits.
struct Logaddexp2Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const V one = Set(d, 1.0);
    const auto swap = Lt(x, y);
    const V larger = IfThenElse(swap, y, x), smaller = IfThenElse(swap, x, y);
    // Below the limit the tail matters only by being positive.
    const V difference = Limit(Sub(smaller, larger), Set(d, -200.0), Zero(d));
    const V t = QuickExp2(d, Mul(difference, Set(d, 16.0)));
    const V u = Add(t, one);
    // log2(u) and what the rounding of u lost.
    const V lost = Mul(Sub(t, Sub(u, one)), Set(d, 0x1.71547652b82fep+0));
    const V tail = Add(QuickYLog2(d, Set(d, 0.0625), u), lost);
    V z = Add(larger, tail);
    const V magnitude = Abs(z);
    const auto cancels = Lt(magnitude, Mul(Abs(larger), Set(d, 0x1p-7))), same = Eq(x, y);
    if (Any(d, Or(Or(HardToRound(d, magnitude), cancels), same))) {
      const auto hard = Or(And(HardToRound(d, magnitude), NotTiny(d, magnitude)), cancels);
      if (Any(d, hard)) z = IfThenElse(hard, Slow(d, larger, smaller, tail), z);
      z = IfThenElse(same, Add(x, one), z);
    }
    return z;
  }

  /// `tail` is a guess of log2(1 + 2^(smaller - larger)).
  template <class D, class V>
  static REPDL_LANE V Slow(D d, V larger, V smaller, V tail) {
    const V ln2 = Set(d, 0x1.62e42fefa39efp-1), ln2_low = Set(d, 0x1.abc9e3b39803fp-56);
    V difference_low, t_low, tail_low, low, scale;
    V difference = TwoSum(smaller, Neg(larger), difference_low);
    const V limit = Set(d, -200.0);
    const auto beyond = Lt(difference, limit);
    difference = IfThenElse(beyond, limit, difference);
    difference_low = IfThenZeroElse(beyond, difference_low);
    difference = MulSlow(difference, difference_low, ln2, ln2_low, difference_low);
    const V t = ExpSlow(d, difference, difference_low, t_low, scale);
    tail = Log1pSlow(d, Mul(t, scale), Mul(t_low, scale), Mul(tail, ln2), tail_low);
    tail = MulSlow(tail, tail_low, Set(d, 0x1.71547652b82fep+0), Set(d, 0x1.777d0ffda0d24p-56), tail_low);
    const V high = AddSlow(larger, Zero(d), tail, tail_low, low);
    return RoundToOdd(high, low);
  }
};

template <class V>
REPDL_LANE V Logaddexp2(V x, V y) {
  return ViaDouble(Logaddexp2Wide(), x, y);
}

/// 1 / ln 2.
template <class N, class D>
REPDL_LANE N OverLn2(D d) {
  return Constant<N>(d, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, -0x1.60bb8a5442ab9p-110);
}

// max + log2(1 + 2^(min - max)), where the sum may cancel.
struct Logaddexp2Formula {
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
    difference = Choose(Gt(V(difference.high), Set(d, -1154.0)), difference, Exactly<N>(d, Set(d, -1154.0)));
    V exponent;
    const N e = ExpOver(d, Times(difference, Ln2<N>(d)), exponent);
    const N log = Log1pNumber(d, Scaled(e, PowerOfTwo(d, Limit(exponent, Set(d, -300.0), zero))));
    const auto far = Lt(V(difference.high), Set(d, -173.0));
    const N moved =
        Scaled(e, PowerOfTwo(d, Add(lift, Limit(exponent, IfThenElse(tiny, Set(d, -1200.0), Set(d, -300.0)), zero))));
    const N tail = Choose(far, moved, Scaled(log, PowerOfTwo(d, lift)));
    n = Neg(lift);
    return Plus(Exactly<N>(d, Mul(larger, PowerOfTwo(d, lift))), Times(tail, OverLn2<N>(d)));
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V x, V y) {
    return LogaddexpFormula::Size(d, n, sum, x, y);
  }
};

struct Logaddexp2Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const V infinity = Inf(d);
    V z = Correctly<Logaddexp2Formula>(d, x, y);
    z = IfThenElse(Eq(x, y), Add(x, Set(d, 1.0)), IfThenElse(Eq(x, infinity), x, z));
    z = IfThenElse(Eq(y, infinity), y, z);
    return IfThenElse(Or(IsNaN(x), IsNaN(y)), Add(x, y), z);
  }
};
