// SPDX-License-Identifier: MIT
/*! pow
`x^y`, correctly rounded. That is tested, not proven: on hard cases, special values and more than 10^9 random pairs.
pow(x, ±0) = 1 and pow(1, y) = 1 even for NaN; NaN for finite x < 0 and y not an integer. The sign of -0, -inf and x < 0
shows only where y is an odd integer. pow(±0, y) = ±inf for y < 0, pow(-1, ±inf) = 1, and the other limits as in C23,
Annex F.
*/

// 2^(y log2(x)) in double, with a relative error below 2^-41. Where that is too near a midpoint, in about 106 bits.
struct PowWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const IntTag<D> di;
    const V magnitude = Abs(x), infinity = BitCast(d, Set(di, 0x7ff0000000000000));
    // In 16ths; beyond the limits the result is +0 or +inf all the same.
    const V exponent = Limit(QuickYLog2(d, y, magnitude), Set(d, -16 * 160.0), Set(d, 16 * 160.0));
    V z = QuickExp2(d, exponent);
    // To 40 bits: the short values among the results, which a smaller format may round up or down, come out exact.
    z = BitCast(d, And(Add(BitCast(di, z), Set(di, 0x1000)), Set(di, -0x2000)));
    const auto ordinary = And(Gt(x, Zero(d)), Lt(x, infinity));
    if (Any(d, Or(HardToRound(d, z), Not(ordinary)))) {
      const auto hard = And(HardToRound(d, z), NotTiny(d, z));
      if (Any(d, hard)) z = IfThenElse(hard, Slow(d, magnitude, y), z);
      z = Special(d, x, y, z);
    }
    return z;
  }

  /// For finite x > 0 and finite y.
  template <class D, class V>
  static REPDL_LANE V Slow(D d, V x, V y) {
    V log_low, exponent_low, low, scale;
    const V log = LogSlow(d, x, log_low);
    const V exponent = MulSlow(log, log_low, y, Zero(d), exponent_low);
    const V high = ExpSlow(d, exponent, exponent_low, low, scale);
    // The result can be exactly a midpoint only where 64 y is an integer. Let x = c 2^e with c odd: if c > 1, c^y has
    // few enough bits only for y = n / 8 < 16; if c = 1, 2^(e y) is the midpoint 2^-150. With these few y, a result
    // within 2^-88 of a double is taken for that double.
    const V y64 = Mul(y, Set(d, 64.0));
    const auto exact = And(Eq(Round(y64), y64), Lt(Abs(low), Set(d, 0x1p-88)));
    return Mul(RoundToOdd(high, IfThenZeroElse(exact, low)), scale);
  }

  /// z = |x|^y where x and y are finite and x is not 0.
  template <class D, class V>
  static REPDL_LANE V Special(D d, V x, V y, V z) {
    const IntTag<D> di;
    const V zero = Zero(d), one = Set(d, 1.0), infinity = BitCast(d, Set(di, 0x7ff0000000000000)), magnitude = Abs(x);
    const V nan = Sub(infinity, infinity);
    const auto x_limit = Or(Eq(magnitude, zero), Eq(magnitude, infinity)), y_limit = Eq(Abs(y), infinity);
    const V of_large = IfThenElse(Gt(y, zero), infinity, zero), of_small = IfThenElse(Gt(y, zero), zero, infinity);
    z = IfThenElse(Or(x_limit, y_limit), IfThenElse(Gt(magnitude, one), of_large, of_small), z);
    const V half = Mul(y, Set(d, 0.5));
    const auto integer = Eq(Round(y), y);  // infinities count as even
    const auto odd = And(integer, NotEq(Round(half), half));
    const auto negative = Lt(CopySign(one, x), zero);
    z = IfThenElse(And(negative, odd), Neg(z), z);
    z = IfThenElse(And(And(Lt(x, zero), Not(x_limit)), Not(integer)), nan, z);
    z = IfThenElse(Or(IsNaN(x), IsNaN(y)), nan, z);
    z = IfThenElse(And(Eq(magnitude, one), y_limit), one, z);
    return IfThenElse(Or(Eq(x, one), Eq(y, zero)), one, z);
  }
};

template <class V>
REPDL_LANE V Pow(V x, V y) {
  return ViaDouble(PowWide(), x, y);
}

// e^(y log|x|) for finite x other than 0.
struct PowFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-61;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x, V y) {
    const V magnitude = Abs(x), limit = Set(d, 0x1p70);
    N exponent = Times(LogOfDouble<N>(d, magnitude), Limit(y, Neg(limit), limit));
    const V high = exponent.high, least = Set(d, -760.0), largest = Set(d, 720.0);
    exponent = Choose(Lt(high, least), Exactly<N>(d, least), exponent);
    exponent = Choose(Gt(high, largest), Exactly<N>(d, largest), exponent);
    return Exact(d, magnitude, y, ExpOver(d, exponent, n));
  }
  /// The logarithm's error grows with the exponent, which is about n ln 2.
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V, V) {
    return Mul(sum, Fma(Abs(n), Set(d, 0x1p-10), Set(d, 0x1p-7)));
  }

  /// The power, which may be a double or the midpoint of two, without what is left of errors. Let |x| = c 2^e with c
  /// odd. If c = 1, 2^(e y) is so short only where 1024 y is an integer. Else c^y is so short only for y > 0 where 32 y is
  /// an integer and, if y >= 2, c has at most 27 bits. With these few y, a result within 2^-136 of such a number is taken
  /// for it.
  template <class D, class V>
  static REPDL_LANE Triple<V> Exact(D d, V x, V y, Triple<V> power) {
    const IntTag<D> di;
    const V y32 = Mul(y, Set(d, 32.0)), y1024 = Mul(y, Set(d, 1024.0)), bound = Set(d, 0x1p-136), middle = power.middle;
    const auto bits = BitCast(di, x);
    const auto is_short = MaskTo(d, Eq(And(bits, Set(di, (1 << 26) - 1)), Zero(di)));
    const auto is_power = MaskTo(d, Eq(And(bits, Set(di, 0xfffffffffffff)), Zero(di)));
    const auto root = And(Eq(Round(y32), y32), Or(Lt(y, Set(d, 2.0)), is_short));
    const auto exact = Or(root, And(Eq(Round(y1024), y1024), is_power));
    const auto at_double = And(exact, Lt(Abs(middle), bound));
    const auto at_midpoint = And(exact, Lt(Abs(V(power.low)), bound));
    return {V(power.high), IfThenZeroElse(at_double, middle), IfThenZeroElse(at_midpoint, V(power.low))};
  }
  template <class D, class V>
  static REPDL_LANE Pair<V> Exact(D, V, V, Pair<V> power) {
    return power;
  }
};

struct PowDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    return PowWide::Special(d, x, y, Correctly<PowFormula>(d, x, y));
  }
};
