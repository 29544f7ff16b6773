// SPDX-License-Identifier: MIT
/*! erfinv
The inverse of erf, correctly rounded. erfinv(±0) = ±0, erfinv(±1) = ±inf, erfinv(x) = NaN for |x| > 1.
*/

// In double: erfinv(x) = x p(v), v = log(1 - x^2), and for v < -4.5, |x| > 0.994, x p(sqrt(-v) - 3), another p.
struct ErfinvWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V v = Log1pOf(d, Neg(Mul(x, x)));
    const V v2 = Mul(v, v);
    V p_even = Set(d, 0x1.c612571ee5e7ap-53);
    p_even = Fma(p_even, v2, Set(d, 0x1.8711c24917c13p-44));
    p_even = Fma(p_even, v2, Set(d, -0x1.a3546cb84d892p-40));
    p_even = Fma(p_even, v2, Set(d, -0x1.648c905702a0dp-34));
    p_even = Fma(p_even, v2, Set(d, 0x1.aec9e930ee872p-32));
    p_even = Fma(p_even, v2, Set(d, -0x1.4540e1fe25655p-25));
    p_even = Fma(p_even, v2, Set(d, 0x1.0f15ccc8d1789p-19));
    p_even = Fma(p_even, v2, Set(d, -0x1.0c86bb962b12ep-13));
    p_even = Fma(p_even, v2, Set(d, 0x1.7a72e72bf91e0p-7));
    p_even = Fma(p_even, v2, Set(d, 0x1.c5bf891b4ef6ap-1));
    V p_odd = Set(d, 0x1.de0711dd5a222p-48);
    p_odd = Fma(p_odd, v2, Set(d, 0x1.e475a1c13a55ap-42));
    p_odd = Fma(p_odd, v2, Set(d, -0x1.e6c8072133afcp-36));
    p_odd = Fma(p_odd, v2, Set(d, 0x1.78f240b4e7626p-32));
    p_odd = Fma(p_odd, v2, Set(d, -0x1.90b2de619888fp-26));
    p_odd = Fma(p_odd, v2, Set(d, 0x1.0fafa992165c2p-20));
    p_odd = Fma(p_odd, v2, Set(d, -0x1.8701823a9a895p-15));
    p_odd = Fma(p_odd, v2, Set(d, 0x1.321102564fd0bp-9));
    p_odd = Fma(p_odd, v2, Set(d, -0x1.db29fb2fee704p-3));
    V p = Fma(p_odd, v, p_even);
    const auto large = Not(Lt(Abs(x), Set(d, 0.994)));
    if (Any(d, large)) p = IfThenElse(large, Tail(d, x, v), p);
    return Mul(x, Patch(d, Abs(x), p, 0x1.51904ep-3, 0x1.c90649d8e9944p-1));
  }

  /// erfinv(x) / x where |x| is near 1, inf there and NaN beyond.
  template <class D, class V>
  REPDL_LANE static V Tail(D d, V x, V v) {
    const V s = Sub(Sqrt(Neg(v)), Set(d, 3.0));
    V p = Set(d, 0x1.ae909f8300e4fp-24);
    p = Fma(p, s, Set(d, -0x1.de1a4e6641b12p-23));
    p = Fma(p, s, Set(d, -0x1.f50803c34dda3p-22));
    p = Fma(p, s, Set(d, 0x1.2395256aa3af0p-19));
    p = Fma(p, s, Set(d, -0x1.f767e6eec5029p-20));
    p = Fma(p, s, Set(d, -0x1.979a701f326d8p-18));
    p = Fma(p, s, Set(d, 0x1.72aff8c9d0630p-16));
    p = Fma(p, s, Set(d, -0x1.7ec4982b4e6cap-16));
    p = Fma(p, s, Set(d, -0x1.8651b9101265bp-15));
    p = Fma(p, s, Set(d, 0x1.aef6a76fad8e8p-13));
    p = Fma(p, s, Set(d, -0x1.28dbd20b00c4dp-12));
    p = Fma(p, s, Set(d, -0x1.384162708d8ccp-13));
    p = Fma(p, s, Set(d, 0x1.84f3c02f9c3c4p-10));
    p = Fma(p, s, Set(d, -0x1.d2755296d7167p-9));
    p = Fma(p, s, Set(d, 0x1.7495896522391p-8));
    p = Fma(p, s, Set(d, -0x1.f4f1c6df5ebc4p-8));
    p = Fma(p, s, Set(d, 0x1.3582c80e3cc93p-7));
    p = Fma(p, s, Set(d, 0x1.006dca7a9be00p+0));
    p = Fma(p, s, Set(d, 0x1.6a9efbd66eb21p+1));
    const V a = Abs(x), one = Set(d, 1.0);
    const V infinity = Inf(d);
    p = IfThenElse(Eq(a, one), infinity, p);
    return IfThenElse(Gt(a, one), Sub(infinity, infinity), p);
  }
};

/// A guess of erfinv(a), for 0 <= a < 1, within 2^-30 or so. Beyond 1 - 2^-23, which floats do not reach, it is a
/// polynomial in sqrt(-log(1 - a)) from tools/coefficients/double_trig.py.
template <class D, class V>
REPDL_LANE V ErfinvGuess(D d, V a) {
  V y = ErfinvWide()(d, a);
  const auto large = Gt(a, Set(d, 1.0 - 0x1p-23));
  if (Any(d, large)) {
    V log2;
    const V q = Sub(Set(d, 1.0), a);
    const V scale = LogScale(d, q, log2);
    const V s = Sqrt(Neg(LogOf(d, Fma(q, scale, Set(d, -1.0)), log2)));
    V p = Set(d, 0x1.6141108e9f4fap-24);
    p = Fma(p, s, Set(d, -0x1.e2edaf57021fcp-19));
    p = Fma(p, s, Set(d, 0x1.21453637cffbfp-14));
    p = Fma(p, s, Set(d, -0x1.8b86a8a909f6ep-11));
    p = Fma(p, s, Set(d, 0x1.4ea39afcd2d93p-8));
    p = Fma(p, s, Set(d, -0x1.5c845bfa38527p-6));
    p = Fma(p, s, Set(d, 0x1.7eaaae355fd63p-5));
    p = Fma(p, s, Set(d, 0x1.019d3606f3602p+0));
    p = Fma(p, s, Set(d, -0x1.b1a094182c10bp-2));
    y = IfThenElse(large, p, y);
  }
  return y;
}

// Up to here the quick step of erfinv is good enough.
constexpr double kQuickErfinv = 0.994;

/// A guess within 2^-20 of it, for 0 <= a < kQuickErfinv: a p(log(1 - a^2)), with the logarithm good to 2^-19.5.
/// Constants from tools/coefficients/double_erf.py.
template <class D, class V>
REPDL_LANE V QuickErfinvGuess(D d, V a) {
  V e;
  decltype(BitCast(IntTag<D>(), e)) bits;
  const V one = Set(d, 1.0);
  const V r = Sub(LogFraction(d, Fma(Neg(a), a, one), e, bits), one), r2 = Mul(r, r);
  const V l01 = Fma(Set(d, 0x1.00015be6c5691p+0), r, Set(d, -0x1.9ad5c201c166ap-21));
  const V l23 = Fma(Set(d, 0x1.53d5e604d5ad9p-2), r, Set(d, -0x1.ffd85aec9793cp-2));
  const V l45 = Fma(Set(d, 0x1.d15ecc890ce78p-3), r, Set(d, -0x1.03e05edf11c2ep-2));
  const V l26 = Fma(Fma(Set(d, -0x1.3b9808326c98bp-3), r2, l45), r2, l23);
  const V v = Fma(e, Set(d, 0x1.62e42fefa39efp-1), Fma(l26, r2, l01)), v2 = Mul(v, v);
  const V p01 = Fma(Set(d, -0x1.db2cf0b17eeddp-3), v, Set(d, 0x1.c5bf8396b87c5p-1));
  const V p23 = Fma(Set(d, 0x1.29aed859a65ffp-9), v, Set(d, 0x1.796ebff5c6422p-7));
  const V p45 = Fma(Set(d, -0x1.54c2ade2fcb4ap-14), v, Set(d, -0x1.9321ab7a46b11p-13));
  const V p67 = Fma(Set(d, -0x1.1f5f06512f6a4p-22), v, Set(d, -0x1.0cf8414fe63cfp-17));
  return Mul(a, Fma(Fma(p67, v2, p45), Mul(v2, v2), Fma(p23, v2, p01)));
}

/// erfinv(a) - g for a guess g, by a step of Newton's method and two terms more, from erf(g) = 1 - tail + step in two
/// doubles; `density` is erf'(g).
template <class D, class V>
REPDL_LANE V ErfinvCorrection(D d, V a, V g, V tail, V tail_low, V step, V step_low, V density) {
  V q_low;
  const V q = FastTwoSum(Set(d, 1.0), Neg(a), q_low);
  // Numbers that cancel come first, so that what is left has no error that counts.
  const V difference = Add(Sub(Sub(Sub(tail, q), step), q_low), Sub(tail_low, step_low));
  const V t = Div(difference, density);
  // t + g t^2 + (8 g^2 + 2) / 6 t^3
  const V cubic = Fma(Mul(g, g), Set(d, 0x1.5555555555555p+0), Set(d, 0x1.5555555555555p-2));
  return Fma(Mul(t, t), Fma(cubic, t, g), t);
}

struct ErfinvOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0), a = Abs(x), g = ErfinvGuess(d, a);
    V tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low;
    ErfcAbout(d, g, Zero(d), tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low);
    const V density = Mul(slope, Add(Fma(w, Set(d, -2.0), one), Add(rest, rest_low)));
    const V correction = ErfinvCorrection(d, a, g, tail, tail_low, step, step_low, density);
    // Of `step`, this part may be wrong: 16 roundings of the sum of f2 / 3 and less, which is not above 0.67 w^2 + 0.34
    // h^2. |step| is less than 1.1 |h| times the density, and |h| <= 2^-7, or h = g.
    const V part = Fma(Mul(w, w), Set(d, 0x1p-49), Set(d, 0x1p-65));
    const V bound = Fma(Min(g, Set(d, 0x1.2p-7)), part, Mul(g, Set(d, 0x1p-76)));
    const auto usual = And(Ge(a, Set(d, 0x1p-900)), Lt(a, one));
    return RoundOrWithSign(d, usual, g, correction, bound, x, accurate::Erfinv, x);
  }
};

struct ErfinvDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), g = QuickErfinvGuess(d, a);
    V tail, tail_low, step, step_low, slope, w, h2, part;
    QuickErfcAbout(d, g, tail, tail_low, step, step_low, slope, w, h2, part);
    const V density = Mul(slope, QuickErfDensity(d, Fma(w, Set(d, 2.0), h2)));
    const V correction = ErfinvCorrection(d, a, g, tail, tail_low, step, step_low, density);
    auto certain = And(Ge(a, Set(d, 0x1p-900)), Lt(a, Set(d, kQuickErfinv)));
    const V y = RoundedWithin(g, correction, Mul(g, part), certain);
    return IfCertain<ErfinvOfAnyDouble>(d, certain, CopySign(y, x), x);
  }
};

template <class V>
REPDL_LANE V Erfinv(V x) {
  return ViaDouble(ErfinvWide(), x);
}
