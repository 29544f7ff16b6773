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

struct TanDouble {
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

template <class V>
REPDL_LANE V Tan(V x) {
  return ViaDouble(TanWide(), x);
}
