// SPDX-License-Identifier: MIT
/*! xlog1py
`x log(1 + y)`, correctly rounded. That is tested, not proven. +0 where x is ±0 and y is not NaN; else the product of x and
log1p(y), with log1p(±0) = ±0, log1p(-1) = -inf and NaN for y < -1.
*/

// In double, with a relative error below 2^-41. Where that is too near a midpoint, in about 106 bits.
struct Xlog1pyWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const V infinity = Inf(d), one = Set(d, 1.0);
    const auto ordinary = And(Gt(y, Neg(one)), Lt(y, infinity));
    V z = Mul(x, Log1pOf(d, y));
    const V magnitude = Abs(z);
    if (Any(d, Or(HardToRound(d, magnitude), Not(ordinary)))) {
      const auto hard = And(HardToRound(d, magnitude), NotTiny(d, magnitude));
      if (Any(d, hard)) z = IfThenElse(hard, Slow(d, x, y), z);
      z = Special(d, x, y, z);
    }
    return z;
  }

  /// z is x log1p(y) for finite x and finite y > -1.
  template <class D, class V>
  static REPDL_LANE V Special(D d, V x, V y, V z) {
    const V zero = Zero(d), infinity = Inf(d), pole = Set(d, -1.0);
    z = IfThenElse(Or(Eq(Abs(x), infinity), Eq(y, zero)), Mul(x, y), z);  // y has the sign of log1p(y)
    z = IfThenElse(Eq(y, pole), Neg(Mul(x, infinity)), z);
    z = IfThenElse(Eq(y, infinity), Mul(x, infinity), z);
    z = IfThenElse(Ge(y, pole), z, Sub(infinity, infinity));
    return IfThenElse(And(Eq(x, zero), Eq(y, y)), zero, z);
  }

  /// For finite x and finite y > -1.
  template <class D, class V>
  static REPDL_LANE V Slow(D d, V x, V y) {
    const V zero = Zero(d), one = Set(d, 1.0);
    const auto near = Lt(Abs(y), Set(d, 0.25));
    const V t = IfThenElseZero(near, y);
    V near_low, sum_low, log_low, low;
    const V near_log = Log1pSlow(d, t, zero, Log1pOf(d, t), near_low);
    const V sum = TwoSum(one, IfThenElse(near, one, y), sum_low);
    V log = LogSlow(d, sum, log_low);
    log_low = IfThenElse(near, near_low, Add(log_low, Div(sum_low, sum)));
    log = IfThenElse(near, near_log, log);
    const V high = MulSlow(log, log_low, x, zero, low);
    return RoundToOdd(high, low);
  }
};

template <class V>
REPDL_LANE V Xlog1py(V x, V y) {
  return ViaDouble(Xlog1pyWide(), x, y);
}

struct Xlog1pyFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x, V y) {
    const V zero = Zero(d), a = Abs(y);
    // y - y^2 / 2, whose last part is rounded; of the least y something on that side of y.
    const auto tiny = Lt(a, Set(d, 0x1p-80));
    V y_exponent, x_exponent, error;
    const V moderate = Moderate(d, IfThenElse(tiny, y, zero), y_exponent);
    const V share = CopySign(Max(Mul(a, Set(d, 0.5)), Set(d, 0x1p-130)), Neg(y));
    const V sum = FastTwoSum(moderate, Mul(moderate, share), error);
    N log = Plus(Exactly<N>(d, sum), Exactly<N>(d, error));
    V none = zero;
    log = Choose(tiny, log, Log1pFormula::template Of<N>(d, none, IfThenElse(tiny, Set(d, 1.0), y)));
    const V moderate_x = Moderate(d, x, x_exponent);
    n = Add(x_exponent, IfThenElseZero(tiny, y_exponent));
    return Times(log, moderate_x);
  }
};

struct Xlog1pyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    return Xlog1pyWide::Special(d, x, y, Correctly<Xlog1pyFormula>(d, x, y));
  }
};
