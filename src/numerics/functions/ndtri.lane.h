// SPDX-License-Identifier: MIT
/*! ndtri
The inverse of the normal distribution function, correctly rounded. ndtri(0) = -inf, ndtri(1/2) = +0, ndtri(1) = +inf;
it is NaN outside of [0, 1].
*/

/// Below this tail, erfc has no table.
constexpr double kFarTail = 0x1.8p-56;

/// x with Phi(-x) = q for a tiny q, off by less than 2^-66 of it: by a step of Newton's method for log(q) from a guess,
/// and a term more.
template <class D, class V>
REPDL_LANE_RARE Pair<V> FarQuantile(D d, V q, V guess) {
  const V x = Max(guess, Set(d, 8.405)), half = Set(d, 0.5);
  const Pair<V> inverse_root_two = {Set(d, 0x1.6a09e667f3bcdp-1), Set(d, -0x1.bdd3413b26456p-55)};
  const Pair<V> scaled = Scaled(FarErfcx(d, Times(inverse_root_two, x)), half);
  V square_low;
  const V square = TwoProd(x, x, square_low);
  Pair<V> rest = LogNumber(d, scaled, Zero(d), Lt(x, Zero(d)), scaled);
  rest = Plus(Plus(rest, Pair<V>{Mul(square, Neg(half)), Mul(square_low, Neg(half))}),
              Negated(LogOfDouble<Pair<V>>(d, q)));
  const V slope = Div(Set(d, 0x1.9884533d43651p-2), V(scaled.high));  // 1 / sqrt(2 pi)
  const V step = Div(V(rest.high), slope);
  return PairOf(x, Fma(Mul(Mul(Sub(slope, x), Neg(half)), step), step, step));
}

/// x with Phi(-x) = q for 0 < q <= 1/2, off by less than `error`. For tails that are not tiny as erfinv, from a guess g
/// with erf(g) - (1 - 2 q), or erfc(g) - 2 q, in two doubles.
template <class D, class V>
REPDL_LANE_RARE Pair<V> QuantilePair(D d, V q, V& error) {
  const V one = Set(d, 1.0), minus_two = Set(d, -2.0), far_tail = Set(d, kFarTail), guess = NdtriGuess(d, q);
  const V a = Fma(q, minus_two, one);  // exact for q >= 1/4
  const V g = Min(Mul(guess, Set(d, 0x1.6a09e667f3bcdp-1)), Set(d, kFarErfcx));
  V tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low, step_error, start_error;
  ErfcAbout(d, g, Zero(d), tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low);
  // erf(g) = start + step, or -erfc(g) = -tail + step.
  const auto big = Lt(q, Set(d, 0.25));
  V start = FastTwoSum(one, Neg(tail), start_error);
  start = IfThenElse(big, Neg(tail), start);
  const V high = FastTwoSum(start, step, step_error);
  const V low = Add(Add(IfThenElseZero(Not(big), start_error), step_error), Sub(step_low, tail_low));
  const V aim = IfThenElse(big, Mul(q, minus_two), a);
  const V density = Mul(slope, Add(Fma(w, minus_two, one), Add(rest, rest_low)));
  const V t = Div(Sub(Sub(aim, high), low), density);
  // g + t + g t^2 + (8 g^2 + 2) / 6 t^3
  const V cubic = Fma(Mul(g, g), Set(d, 0x1.5555555555555p+0), Set(d, 0x1.5555555555555p-2));
  const V correction = Fma(Mul(t, t), Fma(cubic, t, g), t);
  const Pair<V> root_two = {Set(d, 0x1.6a09e667f3bcdp+0), Set(d, -0x1.bdd3413b26456p-54)};
  Pair<V> result = Times(PairOf(g, correction), root_two);
  V part = Fma(Mul(Mul(w, w), Abs(w)), Set(d, 0x1p-50), Set(d, 0x1p-65));
  const auto far = Lt(q, far_tail);
  if (Any(d, far)) {
    result = Choose(far, FarQuantile(d, Min(q, far_tail), guess), result);
    part = IfThenElse(far, Set(d, 0x1p-65), part);
  }
  error = Mul(V(result.high), part);
  return result;
}

struct NdtriWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V p) const {
    const V zero = Zero(d), one = Set(d, 1.0), half = Set(d, 0.5), infinity = Inf(d);
    const auto above = Gt(p, half), usual = And(Gt(p, zero), Lt(p, one));
    V error;
    const Pair<V> x = QuantilePair(d, IfThenElse(usual, IfThenElse(above, Sub(one, p), p), half), error);
    V rounded = RoundToOdd(V(x.high), V(x.low));
    const V pole = IfThenElse(Or(Eq(p, zero), Eq(p, one)), infinity, Sub(infinity, infinity));
    rounded = IfThenElse(usual, rounded, pole);
    return IfThenElse(Lt(p, half), Neg(rounded), rounded);
  }
};

template <class V>
REPDL_LANE V Ndtri(V p) {
  return ViaDouble(NdtriWide(), p);
}

struct NdtriDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V p) const {
    const V one = Set(d, 1.0), half = Set(d, 0.5);
    const auto above = Gt(p, half), below = Lt(p, half), usual = And(Gt(p, Zero(d)), Lt(p, one));
    V error;
    const Pair<V> x = QuantilePair(d, IfThenElse(usual, IfThenElse(above, Sub(one, p), p), half), error);
    const Pair<V> y = Choose(below, Negated(x), x);
    return RoundOr(d, usual, V(y.high), V(y.low), error, accurate::Ndtri, p);
  }
};
