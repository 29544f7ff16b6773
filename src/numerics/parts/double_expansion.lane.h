// SPDX-License-Identifier: MIT
// Correctly rounded functions of doubles: numbers as unevaluated sums of two doubles (a pair, about 105 bits) or three
// (a triple, about 157 bits), and one rounding of what a formula gives. A formula is written once in these words; it is
// computed with pairs first and, where they do not tell how to round (in one of 10000 numbers), with triples. Triples
// are off by 2^-147 or so. The nearest that a function of one double is known to come to a midpoint is 2^-132 (tanh),
// relative to the result; a formula says how nearer ones, of tiny arguments, are told. So results are correctly rounded:
// tested, not proven.

template <class V>
struct Pair {
  MemberOf<V> high, low;
};
template <class V>
struct Triple {
  MemberOf<V> high, middle, low;
};

/// `value` as a number of the kind N.
template <class N, class D, class V>
REPDL_LANE N Exactly(D d, V value) {
  const V zero = Zero(d);
  if constexpr (std::is_same_v<N, Pair<V>>) {
    return {value, zero};
  } else {
    return {value, zero, zero};
  }
}

/// The constant high + middle + low as a number of the kind N.
template <class N, class D>
REPDL_LANE N Constant(D d, double high, double middle, double low) {
  if constexpr (std::is_same_v<N, Pair<decltype(Zero(d))>>) {
    return {Set(d, high), Set(d, middle)};
  } else {
    return {Set(d, high), Set(d, middle), Set(d, low)};
  }
}

template <class M, class V>
REPDL_LANE Pair<V> Choose(M mask, Pair<V> yes, Pair<V> no) {
  return {IfThenElse(mask, V(yes.high), V(no.high)), IfThenElse(mask, V(yes.low), V(no.low))};
}
template <class M, class V>
REPDL_LANE Triple<V> Choose(M mask, Triple<V> yes, Triple<V> no) {
  return {IfThenElse(mask, V(yes.high), V(no.high)), IfThenElse(mask, V(yes.middle), V(no.middle)),
          IfThenElse(mask, V(yes.low), V(no.low))};
}

template <class V>
REPDL_LANE Pair<V> Negated(Pair<V> a) {
  return {Neg(V(a.high)), Neg(V(a.low))};
}
template <class V>
REPDL_LANE Triple<V> Negated(Triple<V> a) {
  return {Neg(V(a.high)), Neg(V(a.middle)), Neg(V(a.low))};
}

/// Times a power of two.
template <class V>
REPDL_LANE Pair<V> Scaled(Pair<V> a, V scale) {
  return {Mul(V(a.high), scale), Mul(V(a.low), scale)};
}
template <class V>
REPDL_LANE Triple<V> Scaled(Triple<V> a, V scale) {
  return {Mul(V(a.high), scale), Mul(V(a.middle), scale), Mul(V(a.low), scale)};
}

/// high + low, where |low| may reach some ulps of high.
template <class V>
REPDL_LANE Pair<V> PairOf(V high, V low) {
  V error;
  const V sum = FastTwoSum(high, low, error);
  return {sum, error};
}

/// The same for three doubles of any order; what cancels leaves no gap in front.
template <class V>
REPDL_LANE Triple<V> TripleOf(V high, V middle, V low) {
  middle = TwoSum(middle, low, low);
  high = TwoSum(high, middle, middle);
  middle = TwoSum(middle, low, low);
  high = TwoSum(high, middle, middle);
  return {high, middle, low};
}

template <class V>
REPDL_LANE Pair<V> Plus(Pair<V> a, Pair<V> b) {
  V error;
  const V sum = TwoSum(V(a.high), V(b.high), error);
  return PairOf(sum, Add(error, Add(V(a.low), V(b.low))));
}
template <class V>
REPDL_LANE_RARE Triple<V> Plus(Triple<V> a, Triple<V> b) {
  V high_error, middle_error, carry;
  const V high = TwoSum(V(a.high), V(b.high), high_error);
  V middle = TwoSum(V(a.middle), V(b.middle), middle_error);
  middle = TwoSum(middle, high_error, carry);
  return TripleOf(high, middle, Add(Add(V(a.low), V(b.low)), Add(middle_error, carry)));
}

template <class V>
REPDL_LANE Pair<V> Times(Pair<V> a, Pair<V> b) {
  V error;
  const V product = TwoProd(V(a.high), V(b.high), error);
  return PairOf(product, Fma(V(a.high), V(b.low), Fma(V(a.low), V(b.high), error)));
}
template <class V>
REPDL_LANE_RARE Triple<V> Times(Triple<V> a, Triple<V> b) {
  const V a0 = a.high, a1 = a.middle, b0 = b.high, b1 = b.middle;
  V e00, e01, e10, carry1, carry2;
  const V p00 = TwoProd(a0, b0, e00), p01 = TwoProd(a0, b1, e01), p10 = TwoProd(a1, b0, e10);
  const V cross = TwoSum(p01, p10, carry1);
  const V middle = TwoSum(cross, e00, carry2);
  const V low = Fma(a1, b1, Fma(a0, V(b.low), Fma(V(a.low), b0, Add(e01, e10))));
  return TripleOf(p00, middle, Add(low, Add(carry1, carry2)));
}

/// Times a double.
template <class V>
REPDL_LANE Pair<V> Times(Pair<V> a, V b) {
  V error;
  const V product = TwoProd(V(a.high), b, error);
  return PairOf(product, Fma(V(a.low), b, error));
}
template <class V>
REPDL_LANE_RARE Triple<V> Times(Triple<V> a, V b) {
  V high_error, middle_error, carry;
  const V high = TwoProd(V(a.high), b, high_error), product = TwoProd(V(a.middle), b, middle_error);
  const V middle = TwoSum(product, high_error, carry);
  return TripleOf(high, middle, Fma(V(a.low), b, Add(middle_error, carry)));
}

template <class V>
REPDL_LANE Pair<V> Over(Pair<V> a, Pair<V> b) {
  const V reciprocal = Div(Set(TagFor(V(b.high)), 1.0), V(b.high));
  const V quotient = Mul(V(a.high), reciprocal);
  const V exact = Fma(Neg(quotient), V(b.high), V(a.high));
  const V rest = Fma(Neg(quotient), V(b.low), Add(exact, V(a.low)));
  return PairOf(quotient, Mul(rest, reciprocal));
}
template <class V>
REPDL_LANE_RARE Triple<V> Over(Triple<V> a, Triple<V> b) {
  const V high = Div(V(a.high), V(b.high));
  Triple<V> rest = Plus(a, Times(b, Neg(high)));
  const V middle = Div(V(rest.high), V(b.high));
  rest = Plus(rest, Times(b, Neg(middle)));
  return TripleOf(high, middle, Div(V(rest.high), V(b.high)));
}

/// The root of a number > 0.
template <class V>
REPDL_LANE Pair<V> Root(Pair<V> a) {
  const V root = Sqrt(V(a.high));
  const V rest = Add(Fma(Neg(root), root, V(a.high)), V(a.low));
  return PairOf(root, Div(rest, Add(root, root)));
}
template <class V>
REPDL_LANE_RARE Triple<V> Root(Triple<V> a) {
  const auto d = TagFor(V(a.high));
  const V high = Sqrt(V(a.high)), twice = Add(high, high), zero = Zero(d);
  Triple<V> root = {high, zero, zero};
  Triple<V> rest = Plus(a, Negated(Times(root, root)));
  root = TripleOf(high, Div(V(rest.high), twice), zero);
  rest = Plus(a, Negated(Times(root, root)));
  return Plus(root, Triple<V>{Div(V(rest.high), twice), zero, zero});
}

/// 2^n for an integer n in [-1022, 1023].
template <class D, class V>
REPDL_LANE V PowerOfTwo(D d, V n) {
  return BitCast(d, ShiftLeft<52>(BitCast(IntTag<D>(), Add(n, Set(d, 0x1.8p52 + 1023)))));
}

/// y 2^n, rounded once, for y of moderate exponent and an integer n in [-2000, 2000].
template <class D, class V>
REPDL_LANE V ScaledBy(D d, V y, V n) {
  const V half = Round(Mul(n, Set(d, 0.5)));
  return Mul(Mul(y, PowerOfTwo(d, half)), PowerOfTwo(d, Sub(n, half)));
}

/// x 2^-n for the n such that the result is of moderate exponent: n is 0 for x that are so themselves.
template <class D, class V>
REPDL_LANE V Moderate(D d, V x, V& n) {
  const V a = Abs(x);
  const auto small = Lt(a, Set(d, 0x1p-400)), large = Gt(a, Set(d, 0x1p400));
  n = IfThenElse(small, Set(d, -700.0), IfThenElseZero(large, Set(d, 700.0)));
  return Mul(x, IfThenElse(small, Set(d, 0x1p700), IfThenElse(large, Set(d, 0x1p-700), Set(d, 1.0))));
}

/// What to add to y, such that the sum has its last place where y 2^n has it if that is subnormal; else 0.
template <class D, class V>
REPDL_LANE V SubnormalOffset(D d, V y, V n) {
  const V least = PowerOfTwo(d, Sub(Set(d, -1022.0), Min(n, Zero(d))));
  return IfThenElseZero(Lt(Abs(y), least), CopySign(least, y));
}

/// offset + y + …, rounded once, less the offset.
template <class V>
REPDL_LANE V RoundedOnce(Triple<V> y, V offset) {
  V rest, tail_error;
  const V sum = TwoSum(offset, V(y.high), rest);
  const V tail = TwoSum(rest, V(y.middle), tail_error);
  V error;
  const V middle = FastTwoSum(tail, Add(tail_error, V(y.low)), error);
  return Sub(Add(sum, RoundToOdd(middle, error)), offset);
}

/// F::Of<N>(d, n, x…) 2^n computed with triples, rounded once.
template <class F, class D, class V, class... Vs>
REPDL_LANE_RARE V RoundedWithTriples(D d, V x, Vs... more) {
  V n = Zero(d);
  const Triple<V> y = F::template Of<Triple<V>>(d, n, x, more...);
  if constexpr (F::kScaled) {
    return CopySign(ScaledBy(d, RoundedOnce(y, SubnormalOffset(d, V(y.high), n)), n), V(y.high));
  } else {
    return RoundedOnce(y, Zero(d));
  }
}

/// `rest` beside `sum`, off by less than `bound`: the sum rounded once, and where that is not certain.
template <class V, class M>
REPDL_LANE V RoundedIfCertain(V sum, V rest, V bound, M& uncertain) {
  const V up = Add(sum, Add(rest, bound)), down = Add(sum, Sub(rest, bound));
  uncertain = Or(Lt(up, down), Gt(up, down));  // not where it is NaN
  return up;
}

/// The same times 2^n, where the result may be subnormal.
template <class D, class V, class M>
REPDL_LANE_RARE V RoundedIfCertain(D d, Pair<V> y, V n, V bound, M& uncertain) {
  V error;
  const V offset = SubnormalOffset(d, V(y.high), n);
  const V sum = TwoSum(offset, V(y.high), error);
  bound = Add(Abs(bound), Mul(Abs(sum), Set(d, 0x1p-80)));
  const V rounded = RoundedIfCertain(sum, Add(error, V(y.low)), bound, uncertain);
  return CopySign(ScaledBy(d, Sub(rounded, offset), n), V(y.high));
}

/// The formula F, rounded once. F::Of<N>(d, n, x…) gives it divided by 2^n with numbers of the kind N. Pairs are off by
/// less than F::kBound times it or, where there is F::kSized, times F::Size(d, n, it, x…); triples by less than their
/// rounding needs. Only an F::kScaled formula sets n, and may have results that are subnormal or overflow.
template <class F, class D, class V, class... Vs>
REPDL_LANE V Correctly(D d, V x, Vs... more) {
  V n = Zero(d);
  const Pair<V> y = F::template Of<Pair<V>>(d, n, x, more...);
  V size = y.high;
  if constexpr (requires { F::kSized; }) size = F::Size(d, n, size, x, more...);
  const V bound = Mul(Set(d, F::kBound), size);
  auto uncertain = Lt(size, size);
  V result = RoundedIfCertain(V(y.high), V(y.low), bound, uncertain);
  if constexpr (F::kScaled) {
    result = Mul(result, PowerOfTwo(d, n));
    const V magnitude = Abs(result);
    const auto normal =
        And(Lt(Abs(n), Set(d, 900.0)), And(Gt(magnitude, Set(d, 0x1p-1000)), Lt(magnitude, Set(d, 0x1p1000))));
    if (Any(d, Not(normal))) [[unlikely]]
      result = RoundedIfCertain(d, y, n, bound, uncertain);
  }
  if (Any(d, uncertain)) [[unlikely]]
    return IfThenElse(uncertain, RoundedWithTriples<F>(d, x, more...), result);
  return result;
}

template <class F, class D, class V>
REPDL_LANE_RARE V Rarely(D d, V x) {
  return F()(d, x);
}

/// high and what is between `least` and `most`, rounded. `certain` stays set where all of that rounds alike; NaN does not.
template <class V, class M>
REPDL_LANE V RoundedBetween(V high, V least, V most, M& certain) {
  const V y = Add(high, most);
  certain = And(certain, Eq(y, Add(high, least)));
  return y;
}

/// high + low, rounded. `certain` stays set where an error up to `bound` does not change that, which is false for NaN.
template <class V, class M>
REPDL_LANE V RoundedWithin(V high, V low, V bound, M& certain) {
  return RoundedBetween(high, Sub(low, bound), Add(low, bound), certain);
}

/// y, the result of a quick step, where that is certain to be rounded right, else F()(d, x).
template <class F, class D, class M, class V>
REPDL_LANE V IfCertain(D d, M certain, V y, V x) {
  if (!All(d, certain)) [[unlikely]]
    return IfThenElse(certain, y, Rarely<F>(d, x));
  return y;
}

/// Quick() by doubles, where all floats are `usual` and it tells how to round each, else Slow()(d, x).
template <class Quick, class Slow, class D, class M, class V>
REPDL_LANE V QuicklyViaDouble(D d, M usual, V x) {
  if (All(d, usual)) {
    bool certain;
    const V y = TryViaDouble(Quick(), x, certain);
    if (certain) return y;
  }
  return Rarely<Slow>(d, x);
}
