// SPDX-License-Identifier: MIT
/*! xlogy
`x log(y)`, correctly rounded. That is tested, not proven: on hard cases, special values and more than 10^9 random
pairs. +0 where x is ±0 and y is not NaN; else the product of x and log(y), with log(±0) = -inf and NaN for y < 0.
*/

// In double, with a relative error below 2^-41. Where that is too near a midpoint, in about 106 bits.
struct XlogyWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const IntTag<D> di;
    const V zero = Zero(d), infinity = BitCast(d, Set(di, 0x7ff0000000000000));
    V z = QuickYLog2(d, Mul(x, Set(d, 0x1.62e42fefa39efp-5)), y);  // ln(2) / 16
    const V magnitude = Abs(z);
    const auto ordinary = And(Gt(y, zero), Lt(y, infinity));
    if (Any(d, Or(HardToRound(d, magnitude), Not(ordinary)))) {
      const auto hard = And(HardToRound(d, magnitude), NotTiny(d, magnitude));
      if (Any(d, hard)) z = IfThenElse(hard, Slow(d, x, y), z);
      z = Special(d, x, y, z);
    }
    return z;
  }

  /// z is x log(y) for finite x and finite y > 0.
  template <class D, class V>
  static REPDL_LANE V Special(D d, V x, V y, V z) {
    const V zero = Zero(d), infinity = Inf(d);
    const V y_less_one = Sub(y, Set(d, 1.0));  // has the sign of log(y)
    z = IfThenElse(Or(Eq(Abs(x), infinity), Eq(y_less_one, zero)), Mul(x, y_less_one), z);
    z = IfThenElse(Eq(y, zero), Neg(Mul(x, infinity)), z);
    z = IfThenElse(Eq(y, infinity), Mul(x, infinity), z);
    z = IfThenElse(Ge(y, zero), z, Sub(infinity, infinity));
    return IfThenElse(And(Eq(x, zero), Eq(y, y)), zero, z);
  }

  /// For finite x and finite y > 0.
  template <class D, class V>
  static REPDL_LANE V Slow(D d, V x, V y) {
    V log_low, low;
    const V log = LogSlow(d, y, log_low);
    const V high = MulSlow(log, log_low, x, Zero(d), low);
    return RoundToOdd(high, low);
  }
};

template <class V>
REPDL_LANE V Xlogy(V x, V y) {
  return ViaDouble(XlogyWide(), x, y);
}

struct XlogyFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x, V y) {
    return Times(LogOfDouble<N>(d, y), Moderate(d, x, n));
  }
};

struct XlogyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    return XlogyWide::Special(d, x, y, Correctly<XlogyFormula>(d, x, y));
  }
};
