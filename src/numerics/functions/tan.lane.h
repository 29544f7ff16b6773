// SPDX-License-Identifier: MIT
/*! tan
`tan(x)`, correctly rounded for every x. tan(±0) = ±0, tan(±inf) = NaN.
*/

// In double: |x| = n pi / 2 + r, |r| <= pi / 4, tan(r) = (r + r^3 p(r^2)) / q(r^2), p and q from tools/coefficients;
// for odd n it is -1 / tan(r). The first step to r is exact, as for sin.
struct TanWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const IntTag<D> di;
    const V a = Abs(x), to_integer = Set(d, 0x1.8p52);
    V n_biased = Fma(a, Set(d, 0x1.45f306dc9c883p-1), to_integer);  // 2 / pi
    V n = Sub(n_biased, to_integer);
    V r = Fma(n, Set(d, -0x1.921fb54442d18p+0), a);  // pi / 2 in two parts
    r = Fma(n, Set(d, -0x1.1a62633145c07p-54), r);
    const auto large = Gt(a, Set(d, 0x1p24));
    if (Any(d, large)) {
      r = IfThenElse(large, LargeRemainder(d, a, 2.0, 0.0, n), r);
      n_biased = IfThenElse(large, Add(n, to_integer), n_biased);
    }
    const V z = Mul(r, r);
    V p = Set(d, -0x1.32d8d8417c66fp-26);
    p = Fma(p, z, Set(d, -0x1.7624b81272207p-17));
    p = Fma(p, z, Set(d, 0x1.98a99ed4b9d5cp-9));
    p = Fma(p, z, Set(d, -0x1.0c444f311c623p-3));
    p = Fma(Mul(r, z), p, r);
    V q = Set(d, -0x1.0c630cad2d34ep-12);
    q = Fma(q, z, Set(d, 0x1.925f459c217f3p-6));
    q = Fma(q, z, Set(d, -0x1.db777cede3867p-2));
    q = Fma(q, z, Set(d, 1.0));
    const auto one = Set(di, 1);
    const auto odd = MaskTo(d, Eq(And(BitCast(di, n_biased), one), one));
    const V y = Div(IfThenElse(odd, q, p), IfThenElse(odd, p, q));
    return XorSign(d, NegateOdd(d, y, n_biased), x);
  }
};

struct TanOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const IntTag<D> di;
    const V a = Abs(x), to_integer = Set(d, 0x1.8p52);
    const V n_biased = Fma(a, Set(d, 0x1.45f306dc9c883p-1), to_integer);  // 2 / pi
    V r_low, sine, sine_low, cosine, cosine_low, low;
    const V r = RemainderPair<false>(d, a, Sub(n_biased, to_integer), 2.0, r_low);
    SineAndCosinePairs(d, r, r_low, sine, sine_low, cosine, cosine_low);
    const auto one = Set(di, 1);
    const auto odd = MaskTo(d, Eq(And(BitCast(di, n_biased), one), one));
    const V high = DivPairs(d, IfThenElse(odd, cosine, sine), IfThenElse(odd, cosine_low, sine_low),
                            IfThenElse(odd, sine, cosine), IfThenElse(odd, sine_low, cosine_low), low);
    const V error = Mul(high, Set(d, 0x1p-67)), sign = XorSign(d, NegateOdd(d, high, n_biased), x);
    return RoundOrWithSign(d, Lt(a, Set(d, kLargeAngle)), high, low, error, sign, accurate::Tan, x);
  }
};

// For t = i / 16, c = atan(t) near to |r| and h = |r| - c, tan(|r|) = (t + tan(h)) / (1 - t tan(h)), where |h| < 0.0326
// (i is at most 15), tan(h) = h + rest and rest = h_low (1 + h^2) + h^3 p(h^2); |r| - c is exact. Errors in units of
// 2^-70: of h^3 p 4.6 for the roundings of p, h^2 and h^3, where i is 0 as h^2; of its sum with h_low 0.8; of the
// polynomial 1.2; of those with the errors of t + h and 1 - t h 1.6. Where i is not 0, t + h > 0.03, and where it is,
// |h|: relative to the result, in which both parts of the quotient may be off, all is below 2^-61.8.
struct TanDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const IntTag<D> di;
    const V a = Abs(x), shift = Set(d, 0x1.8p52), one = Set(d, 1.0);
    const V n_biased = Fma(a, Set(d, 0x1.45f306dc9c883p-1), shift);  // 2 / pi
    V r_low;
    const V r = RemainderPair<false>(d, a, Sub(n_biased, shift), 2.0, r_low);
    const V r_size = Abs(r), r2 = Mul(r, r);
    const V guess = Mul(Fma(r2, Set(d, 0.38), one), r_size);
    const V shifted = Min(Fma(guess, Set(d, 16.0), shift), Set(d, 0x1.8p52 + 15));
    const auto index = BitCast(di, shifted);
    const V t = Mul(Sub(shifted, shift), Set(d, 0.0625));
    const V h = Sub(r_size, LookUp<16>(d, Sixteenths(), index));
    const V h_low = Sub(XorSign(d, r_low, r), LookUp<16>(d, SixteenthsLow(), index));
    const V z = Mul(h, h);
    V p = Fma(Set(d, 0x1.66c1e0aca3974p-6), z, Set(d, 0x1.ba1b91d27c090p-5));
    p = Fma(p, z, Set(d, 0x1.11111111844dap-3));
    p = Fma(p, z, Set(d, 0x1.5555555555533p-2));
    const V rest = Fma(Mul(z, h), p, Fma(z, h_low, h_low));
    V sum_low, error;
    const V sum = FastTwoSum(t, h, sum_low), minus_t = Neg(t), difference = Fma(minus_t, h, one);
    const V difference_low = Fma(minus_t, rest, Fma(minus_t, h, Sub(one, difference)));
    const Pair<V> tan_a = PairOf(sum, Add(sum_low, rest)), tan_b = PairOf(difference, difference_low);
    const auto lowest = Set(di, 1);
    const auto odd = MaskTo(d, Eq(And(BitCast(di, n_biased), lowest), lowest));
    const Pair<V> top = Choose(odd, tan_b, tan_a), bottom = Choose(odd, tan_a, tan_b);
    const V high = DivPairs(d, V(top.high), V(top.low), V(bottom.high), V(bottom.low), error);
    auto certain = Lt(a, Set(d, kLargeAngle));
    const V y = RoundedWithin(high, error, Mul(high, Set(d, 0x1.8p-62)), certain);
    return IfCertain<TanOfAnyDouble>(d, certain, XorSign(d, XorSign(d, NegateOdd(d, y, n_biased), r), x), x);
  }
};

template <class V>
REPDL_LANE V Tan(V x) {
  return ViaDouble(TanWide(), x);
}
