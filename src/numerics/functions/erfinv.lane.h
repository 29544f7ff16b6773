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

// By a step of Newton's method from a guess g and two terms more, with erf(g) - x, or erfc(g) - (1 - x), in two
// doubles.
struct ErfinvDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0), a = Abs(x);
    const V g = ErfinvGuess(d, a);
    V tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low, step_error, start_error;
    ErfcAbout(d, g, Zero(d), tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low);
    // erf(g) = start + step, or -erfc(g) = -tail + step.
    const auto big = Ge(a, Set(d, 0.5));
    V start = FastTwoSum(Set(d, 1.0), Neg(tail), start_error);
    start = IfThenElse(big, Neg(tail), start);
    const V high = FastTwoSum(start, step, step_error);
    const V low = Add(Add(IfThenElseZero(Not(big), start_error), step_error), Sub(step_low, tail_low));
    const V aim = IfThenElse(big, Sub(a, one), a);
    const V difference = Sub(Sub(aim, high), low);
    const V density = Mul(slope, Add(Fma(w, Set(d, -2.0), one), Add(rest, rest_low)));
    const V t = Div(difference, density);
    // g + t + g t^2 + (8 g^2 + 2) / 6 t^3
    const V cubic = Fma(Mul(g, g), Set(d, 0x1.5555555555555p+0), Set(d, 0x1.5555555555555p-2));
    const V correction = Fma(Mul(t, t), Fma(cubic, t, g), t);
    const V part = Mul(Fma(Mul(Mul(w, w), Abs(w)), Set(d, 0x1p-50), Set(d, 0x1.8p-66)), g);
    const auto usual = And(Ge(a, Set(d, 0x1p-900)), Lt(a, one));
    return RoundOrWithSign(d, usual, g, correction, part, x, accurate::Erfinv, x);
  }
};

template <class V>
REPDL_LANE V Erfinv(V x) {
  return ViaDouble(ErfinvWide(), x);
}
