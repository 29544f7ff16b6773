// SPDX-License-Identifier: MIT
/*! atan2
The angle of the point (x, y), `atan(y / x)` in the right quadrant, correctly rounded. That is tested, not proven: on
hard cases, special values and more than 10^9 random pairs. It has the sign of y: ±0 for y = ±0 and x > 0 or x = +0, ±pi
for y = ±0 and x < 0 or x = -0. An infinity outweighs what is finite, and two make odd multiples of ±pi / 4. NaN if x or
y is NaN.
*/

// In double, with a relative error below 2^-41. Where that is too near a midpoint, in about 106 bits.
struct Atan2Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V y, V x) const {
    const IntTag<D> di;
    const V zero = Zero(d), x_magnitude = Abs(x), y_magnitude = Abs(y);
    const auto swap = Gt(y_magnitude, x_magnitude);
    const V larger = IfThenElse(swap, y_magnitude, x_magnitude), smaller = IfThenElse(swap, x_magnitude, y_magnitude);
    // Up to pi / 8 the angle is atan(t), t = smaller / larger; above, pi / 4 + atan(t), t = (s - l) / (s + l).
    const auto above = Gt(smaller, Mul(larger, Set(d, 0x1.a827999fcef32p-2)));
    const V t = Div(Sub(smaller, IfThenElseZero(above, larger)), Add(larger, IfThenElseZero(above, smaller)));
    const V t2 = Mul(t, t), t4 = Mul(t2, t2);
    const V p01 = Fma(Set(d, 0x1.9999992d96360p-3), t2, Set(d, -0x1.555555550d60fp-2));
    const V p23 = Fma(Set(d, 0x1.c715832d0436ep-4), t2, Set(d, -0x1.24922d600ec07p-3));
    const V p45 = Fma(Set(d, 0x1.3601f33b05d39p-4), t2, Set(d, -0x1.73e1aa12b80cep-4));
    const V p67 = Fma(Set(d, 0x1.fa2f7b05b2d66p-6), t2, Set(d, -0x1.e298f0cf4ef9fp-5));
    const V p = Fma(Fma(Fma(p67, t4, p45), t4, p23), t4, p01);
    const V quarter_pi = Set(d, 0x1.921fb54442d18p-1);
    V angle = Add(Fma(Mul(t, t2), p, t), IfThenElseZero(above, quarter_pi));
    // From the positive x axis: angle, pi / 2 - angle, pi / 2 + angle, pi - angle.
    const auto left = MaskTo(d, Lt(BitCast(di, x), Zero(di)));  // -0 too
    const V start = IfThenElse(swap, Set(d, 0x1.921fb54442d18p+0), IfThenElseZero(left, Set(d, 0x1.921fb54442d18p+1)));
    const V toward = IfThenElse(swap, Neg(x), x);  // its sign
    V z = Add(start, CopySign(angle, toward));
    if (Any(d, HardToRound(d, z))) {
      const auto hard = And(HardToRound(d, z), NotTiny(d, z));
      if (Any(d, hard)) z = IfThenElse(hard, Slow(d, smaller, larger, angle, start, toward), z);
      // Two zeros or two infinities; what is finite is right already.
      const auto same = And(Eq(smaller, larger), IsNaN(t));
      angle = IfThenElseZero(Gt(larger, zero), quarter_pi);
      z = IfThenElse(same, Add(start, CopySign(angle, toward)), z);
    }
    return CopySign(z, y);
  }

  /// start + atan(smaller / larger), with the sign of `toward`; `angle` is a guess of the latter, `start` the double
  /// nearest to a multiple of pi / 2.
  template <class D, class V>
  static REPDL_LANE V Slow(D d, V smaller, V larger, V angle, V start, V toward) {
    const V zero = Zero(d), sign = CopySign(Set(d, 1.0), toward);
    V u_low, sine_low, cosine_low, a_low, b_low, low;
    const V u = MulSlow(angle, zero, Neg(angle), zero, u_low);
    V sine = FactorialSeries<1, 2, 9, 15>(d, u, u_low, sine_low);
    sine = MulSlow(sine, sine_low, angle, zero, sine_low);
    const V cosine = FactorialSeries<0, 2, 10, 15>(d, u, u_low, cosine_low);
    // The rest of the angle has the tangent (s cos - l sin) / (l cos + s sin).
    const V a = MulSlow(cosine, cosine_low, smaller, zero, a_low);
    const V b = MulSlow(sine, sine_low, Neg(larger), zero, b_low);
    const V difference = AddSlow(a, a_low, b, b_low, low);
    V rest = Div(Add(difference, low), Fma(larger, cosine, Mul(smaller, sine)));
    // A tiny angle is the quotient's double, the rest of the quotient, and -angle^3 / 3, which decides on midpoints of
    // subnormal floats.
    const V quotient_rest = Div(Fma(Neg(angle), larger, smaller), larger);
    const V tiny_rest = Fma(Mul(Mul(angle, angle), angle), Set(d, -0x1.5555555555555p-2), quotient_rest);
    rest = IfThenElse(Lt(angle, Set(d, 0x1p-40)), tiny_rest, rest);
    // What pi has beyond its double is this part of the double.
    const V start_low = Mul(start, Set(d, 0x1.678afae35cdd1p-55));
    const V high = AddSlow(start, start_low, Mul(sign, angle), Mul(sign, rest), low);
    return RoundToOdd(high, low);
  }
};

struct Atan2Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V y, V x) const {
    const V x_magnitude = Abs(x), y_magnitude = Abs(y), zero = Zero(d);
    const auto swap = Gt(y_magnitude, x_magnitude);
    const V larger = IfThenElse(swap, y_magnitude, x_magnitude), smaller = IfThenElse(swap, x_magnitude, y_magnitude);
    V low;
    V high = AtanPair(d, smaller, zero, larger, zero, low);
    // From the positive x axis: angle, pi / 2 - angle, pi / 2 + angle, pi - angle.
    const auto left = Lt(x, zero);
    const auto minus = Not(Or(And(swap, left), And(Not(swap), Not(left))));
    const V start = IfThenElse(swap, Set(d, 0x1.921fb54442d18p+0), IfThenElseZero(left, Set(d, 0x1.921fb54442d18p+1)));
    high = AngleFrom(d, start, IfThenElse(minus, Neg(high), high), IfThenElse(minus, Neg(low), low), low);
    const auto usual = And(Ge(smaller, Set(d, 0x1p-400)), Le(larger, Set(d, 0x1p400)));
    return RoundOrWithSign(d, usual, high, low, Mul(high, Set(d, 0x1p-67)), y, accurate::Atan2, y, x);
  }
};

template <class V>
REPDL_LANE V Atan2(V y, V x) {
  return ViaDouble(Atan2Wide(), y, x);
}
