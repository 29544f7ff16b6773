// SPDX-License-Identifier: MIT
// Hurwitz's zeta function, of doubles: the sum of (q + k)^-s over k from 0, with pairs and with triples. Constants from
// tools/coefficients/gamma.py.

// B(2 k) / (2 k)! for k = 1, 2, …, and what the doubles leave.
REPDL_TABLE(EulerMaclaurin, double, 22, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15,
            -0x1.bbd779334ef0bp-21, 0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37,
            -0x1.7da4e1f79955cp-42, 0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58,
            -0x1.497d9033a2b5cp-63, 0x1.0b132d7c6ad06p-68, -0x1.b0f72d59f1c16p-74, 0x1.5ef2da4cca26dp-79,
            -0x1.1c77df96de38bp-84, 0x1.cd299de521b62p-90, -0x1.75cde656574a7p-95, 0x1.2efe8db3b4adfp-100,
            -0x1.eb322904761ffp-106, 0x1.8e25ff9328464p-111, -0x1.42ba1a349b5d3p-116)
REPDL_TABLE(EulerMaclaurinLow, double, 22, 0x1.5555555555555p-58, 0x1.f49f49f49f49fp-65, -0x1.50ffbaa655100p-69,
            0x1.4e65f77088199p-75, -0x1.75a7bb0599f07p-80, 0x1.16a73200360d2p-88, -0x1.1ed444b9ec588p-95,
            -0x1.2ff894d037a17p-96, -0x1.88d4ccd141422p-101, 0x1.9c31f0af5255fp-108, -0x1.3ea5a927db8abp-116,
            -0x1.b843f32aad364p-117, 0x1.01d4526c8e75ep-122, -0x1.f30b7489fb679p-128, 0x1.6b993adfdd467p-133,
            0x1.dac59dd0d33acp-143, -0x1.4075f86821e83p-144, 0x1.89cf9cb4d5178p-150, -0x1.cc0e9671edd3fp-155,
            0x1.3082df2e94ceep-162, 0x1.857b060807e1ap-166, 0x1.a4e6a837d57bbp-171)
REPDL_TABLE(EulerMaclaurinLowest, double, 22, 0x1.5555555555555p-112, 0x1.27d27d27d27d2p-119, 0x1.1566abc011567p-123,
            0x1.551dda662eeb7p-130, -0x1.a118fdbcae1bep-134, 0x1.2dc206d92cc5dp-145, 0x1.9be67c7ea6c26p-151,
            0x1.e477bc6ad2b8ap-150, 0x1.dbfa0670bed3bp-158, 0x1.1f7b6b514405dp-162, 0x1.79ed4c2c3ba46p-171,
            -0x1.dabd953873022p-172, -0x1.2b270db838f45p-176, -0x1.5b285df6134a7p-187, 0x1.b43b46320c775p-188,
            0x1.271bb0850ccd2p-200, -0x1.37c47abece00fp-198, -0x1.2ec9c32eadd19p-206, 0x1.f788ff40fd1a7p-211,
            -0x1.af1d039af2f96p-216, 0x1.84b16ea47ef26p-220, 0x1.fa7b4f00ff305p-226)

/// Where the sum ends and the formula of Euler and Maclaurin for the rest begins: (kFirst + kSlope s), after which kTerms
/// terms of it are enough, the first kExact as numbers of the kind N; and what part of the sum does not count.
template <class N>
struct HurwitzSizes {  // triples
  static constexpr double kFirst = 36.0, kSlope = 2.0, kNegligible = 0x1p-160;
  static constexpr int kTerms = 22, kExact = 18;
};
template <class V>
struct HurwitzSizes<Pair<V>> {
  static constexpr double kFirst = 12.0, kSlope = 1.0, kNegligible = 0x1p-80;
  static constexpr int kTerms = 12, kExact = 2;
};

/// high + low as a number of the kind N.
template <class N, class D, class V>
REPDL_LANE N ExactlyTwo(D d, V high, V low) {
  if constexpr (std::is_same_v<N, Pair<V>>) {
    return {high, low};
  } else {
    return {high, low, Zero(d)};
  }
}

/// Whole powers of powers of two without what is left of errors, so that a sum shows on which side of them it lies.
template <class D, class V>
REPDL_LANE Triple<V> WithoutErrors(D d, V w, V y, Triple<V> power) {
  const IntTag<D> di;
  const auto is_power = MaskTo(d, Eq(And(BitCast(di, w), Set(di, 0xfffffffffffff)), Zero(di)));
  const auto exact = And(And(is_power, Eq(Round(y), y)), Lt(Abs(V(power.middle)), Set(d, 0x1p-136)));
  return {V(power.high), IfThenZeroElse(exact, V(power.middle)), IfThenZeroElse(exact, V(power.low))};
}
template <class D, class V>
REPDL_LANE Pair<V> WithoutErrors(D, V, V, Pair<V> power) {
  return power;
}

/// (w + w_low)^y / 2^n for w > 0. Powers beyond e^1500 are taken for that.
template <class N, class D, class V>
REPDL_LANE_RARE N PowerOver(D d, V w, V w_low, V y, V& n) {
  const V zero = Zero(d);
  N log = LogOfDouble<N>(d, w);
  const auto has_low = NotEq(w_low, zero);
  if (Any(d, has_low)) {
    const V one = Set(d, 1.0);
    const N ratio = Over(Exactly<N>(d, IfThenElseZero(has_low, w_low)), Exactly<N>(d, IfThenElse(has_low, w, one)));
    const V high = ratio.high;
    log = Plus(log, Plus(ratio, Exactly<N>(d, Mul(Mul(high, high), Set(d, -0.5)))));
  }
  const V limit = Set(d, 0x1p70), largest = Set(d, 1500.0);
  N exponent = Times(log, Limit(y, Neg(limit), limit));
  const V size = exponent.high;
  exponent = Choose(Gt(Abs(size), largest), Exactly<N>(d, CopySign(largest, size)), exponent);
  return WithoutErrors(d, w, y, ExpOver(d, exponent, n));
}

/// What the terms from w on make, divided by w^(1 - s): 1 / (s - 1) + 1 / (2 w) + the sum of B(2 j) / (2 j)!
/// s (s + 1) … (s + 2 j - 2) / w^(2 j).
template <class N, class D, class V>
REPDL_LANE_RARE N EulerMaclaurinSum(D d, V s, V w, V w_low) {
  using Sizes = HurwitzSizes<N>;
  const V one = Set(d, 1.0);
  const N unit = Exactly<N>(d, one), inverse = Over(unit, ExactlyTwo<N>(d, w, w_low)), square = Times(inverse, inverse);
  N sum = Plus(Over(unit, Exactly<N>(d, Sub(s, one))), Scaled(inverse, Set(d, 0.5)));
  N power = Times(square, s);
  for (int j = 0; j < Sizes::kExact; ++j) {
    sum =
        Plus(sum, Times(power, Constant<N>(d, EulerMaclaurin()[j], EulerMaclaurinLow()[j], EulerMaclaurinLowest()[j])));
    V low, next_low;
    const V above = TwoSum(s, Set(d, 2.0 * j + 1), low), next = TwoSum(s, Set(d, 2.0 * j + 2), next_low);
    power = Times(Times(Times(power, ExactlyTwo<N>(d, above, low)), ExactlyTwo<N>(d, next, next_low)), square);
  }
  V term = power.high, rest = Zero(d);
  for (int j = Sizes::kExact; j < Sizes::kTerms; ++j) {
    rest = Fma(term, Set(d, EulerMaclaurin()[j]), rest);
    const V above = Mul(Add(s, Set(d, 2.0 * j + 1)), V(inverse.high));
    term = Mul(Mul(term, above), Mul(Add(s, Set(d, 2.0 * j + 2)), V(inverse.high)));
  }
  return Plus(sum, Exactly<N>(d, rest));
}

/// The sum of (start + v + k)^-s over k from 0, divided by 2^n, for finite s > 1 and start + v > 0, start an integer.
template <class N, class D, class V>
REPDL_LANE_RARE N HurwitzSum(D d, V s, V start, V v, V& n) {
  using Sizes = HurwitzSizes<N>;
  const V zero = Zero(d), one = Set(d, 1.0), exponent = Neg(s), last_exponent = Sub(one, s);
  const V far = Fma(s, Set(d, Sizes::kSlope), Set(d, Sizes::kFirst)), least = Set(d, -1000.0), most = Set(d, 1000.0);
  V w_low;
  V w = TwoSum(start, v, w_low);
  auto counts = Lt(w, far);
  const N first = PowerOver<N>(d, w, w_low, IfThenElse(counts, exponent, last_exponent), n);
  N sum = Choose(counts, first, Exactly<N>(d, zero));
  // Beyond these limits the first term is infinite, or 0.
  auto ended = And(counts, Gt(Abs(n), Set(d, 2100.0)));
  counts = And(counts, Not(ended));
  for (V k = Add(start, one);; k = Add(k, one)) {
    if (!Any(d, counts)) break;
    V next_low, place = zero;
    const V next = TwoSum(k, v, next_low);
    w = IfThenElse(counts, next, w);
    w_low = IfThenElse(counts, next_low, w_low);
    counts = And(counts, Lt(w, far));
    if (!Any(d, counts)) break;
    N term = PowerOver<N>(d, w, w_low, exponent, place);
    term = Scaled(term, PowerOfTwo(d, Limit(Sub(place, n), least, most)));
    sum = Choose(counts, Plus(sum, term), sum);
    const auto negligible = And(counts, Lt(V(term.high), Mul(V(sum.high), Set(d, Sizes::kNegligible))));
    ended = Or(ended, negligible);
    counts = And(counts, Not(negligible));
  }
  if (!Any(d, Not(ended))) return sum;
  V place = zero;
  N rest = PowerOver<N>(d, w, w_low, last_exponent, place);
  rest = Times(rest, EulerMaclaurinSum<N>(d, s, w, w_low));
  rest = Scaled(rest, PowerOfTwo(d, Limit(Sub(place, n), least, most)));
  return Choose(ended, sum, Plus(sum, rest));
}

/// y 2^n divided by 2^top, where top is not less or y does not count beside others.
template <class N, class D, class V>
REPDL_LANE N ScaledTo(D d, N y, V n, V top) {
  return Scaled(y, PowerOfTwo(d, Limit(Sub(n, top), Set(d, -1000.0), Zero(d))));
}

/// Where zeta(s, q) is a sum: neither a pole nor undefined nor a limit.
template <class D, class V>
REPDL_LANE auto IsHurwitzSum(D d, V s, V q) {
  const V infinity = Inf(d);
  const auto defined = Or(Gt(q, Zero(d)), And(NotEq(Round(q), q), Eq(Round(s), s)));
  return And(And(And(Gt(s, Set(d, 1.0)), Lt(s, infinity)), Lt(Abs(q), infinity)), defined);
}

/// zeta(s, q) / 2^n where IsHurwitzSum. For q < 0 let y = q - trunc(q): what is above 0 is the sum from 1 + y; what is
/// below, but for its sign where s is odd, the sum from -y less that from 1 - q. Those from 1 + y and -y come first, since
/// they may cancel.
template <class N, class D, class V>
REPDL_LANE_RARE N HurwitzZeta(D d, V s, V q, V& n) {
  const V zero = Zero(d), one = Set(d, 1.0), half = Set(d, 0.5);
  const auto inside = IsHurwitzSum(d, s, q);
  s = IfThenElse(inside, s, Set(d, 2.0));
  q = IfThenElse(inside, q, one);
  const auto negative = Lt(q, zero);
  V y = Sub(q, Round(q));
  y = IfThenElse(Gt(y, zero), Sub(y, one), y);
  n = zero;
  N total = HurwitzSum<N>(d, s, IfThenElseZero(negative, one), IfThenElse(negative, y, q), n);
  if (!Any(d, negative)) return total;

  V below_n = zero, beyond_n = zero;
  N below = HurwitzSum<N>(d, s, zero, IfThenElse(negative, Neg(y), one), below_n);
  N beyond = HurwitzSum<N>(d, s, one, IfThenElse(negative, Neg(q), one), beyond_n);
  const auto odd = NotEq(Round(Mul(s, half)), Mul(s, half));
  below = Choose(odd, Negated(below), below);
  beyond = Choose(odd, beyond, Negated(beyond));
  const V limit = Set(d, 2100.0);
  const auto endless = And(And(Gt(n, limit), Gt(below_n, limit)), NotEq(y, Neg(half)));
  V top = IfThenElse(negative, Max(n, Max(below_n, beyond_n)), n);
  below = ScaledTo(d, below, below_n, top);
  const N above = ScaledTo(d, total, n, top);
  N near = Plus(above, below);
  near = Choose(endless, Choose(Lt(y, Neg(half)), above, below), near);
  // At a half integer they may cancel to nothing; the rest, however small, is all there is then.
  top = IfThenElse(And(negative, Eq(V(near.high), zero)), beyond_n, top);
  n = top;
  return Choose(negative, Plus(near, ScaledTo(d, beyond, beyond_n, top)), total);
}

/// How far pairs are off, in 2^-64: as the logarithms of the terms grow. For q < 0 the terms are at most 2^3.
template <class D, class V>
REPDL_LANE V HurwitzSize(D d, V exponents, V sum, V q) {
  const V size = IfThenElse(Lt(q, Zero(d)), Set(d, 8.0), Abs(sum));
  return Mul(size, Fma(exponents, Set(d, 0x1p-11), Set(d, 0x1p-5)));
}

/// With triples.
template <class F, class D, class V, class... Vs>
REPDL_LANE_RARE V ToOddWithTriples(D d, V x, Vs... more) {
  V n = Zero(d);
  const Triple<V> y = F::template Of<Triple<V>>(d, n, x, more...);
  const V limit = Set(d, 400.0);
  const V odd = RoundToOdd(V(y.high), RoundToOdd(V(y.middle), V(y.low)));
  return Mul(odd, PowerOfTwo(d, Limit(n, Neg(limit), limit)));
}

/// A formula's value to odd: a double that rounds to a float or less as the value does. Where the pairs do not tell on
/// which side of such a number's midpoint it lies, with triples.
template <class F, class D, class V, class... Vs>
REPDL_LANE V ToOdd(D d, V x, Vs... more) {
  const IntTag<D> di;
  V n = Zero(d);
  const Pair<V> y = F::template Of<Pair<V>>(d, n, x, more...);
  const V high = y.high, low = y.low, limit = Set(d, 400.0);
  const V bound = Mul(Set(d, F::kBound), F::Size(d, n, high, x, more...));
  // Midpoints, and these numbers themselves, end in 28 zeros.
  const auto is_short = MaskTo(d, Eq(And(BitCast(di, high), Set(di, 0xfffffff)), Zero(di)));
  const V result = Mul(RoundToOdd(high, low), PowerOfTwo(d, Limit(n, Neg(limit), limit)));
  // Also where bits have cancelled.
  const auto hard = Or(And(is_short, Not(Gt(Abs(low), bound))), Lt(Abs(high), Mul(bound, Set(d, 0x1p28))));
  if (Any(d, hard)) [[unlikely]]
    return IfThenElse(hard, ToOddWithTriples<F>(d, x, more...), result);
  return result;
}
