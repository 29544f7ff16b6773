// SPDX-License-Identifier: MIT
/*! erf
`2 / sqrt(pi) * integral of e^(-t^2) from 0 to x`, correctly rounded. erf(±0) = ±0, erf(±inf) = ±1.
*/

// In double: erf(x) = x p(x^2 - 8), every fourth term of p in a sum of its own. Beyond the limits erf(x) rounds to ±1.
struct ErfWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    x = Limit(x, Set(d, -3.935), Set(d, 3.935));
    const V z = Fma(x, x, Set(d, -8.0));
    const V z2 = Mul(z, z);
    const V z4 = Mul(z2, z2);
    V p0 = Set(d, 0x1.5b65374c5ab67p-97);
    p0 = Fma(p0, z4, Set(d, 0x1.c3eb078b735d2p-78));
    p0 = Fma(p0, z4, Set(d, 0x1.20daa337d6bf1p-60));
    p0 = Fma(p0, z4, Set(d, 0x1.3e14eba9a9c9ep-44));
    p0 = Fma(p0, z4, Set(d, 0x1.0ed52be416306p-29));
    p0 = Fma(p0, z4, Set(d, 0x1.717efc7839e85p-16));
    p0 = Fma(p0, z4, Set(d, 0x1.6a040781a499cp-2));
    V p1 = Set(d, -0x1.5605b7352a5f2p-100);
    p1 = Fma(p1, z4, Set(d, -0x1.4d9cad4656554p-82));
    p1 = Fma(p1, z4, Set(d, -0x1.eda22548ac1edp-65));
    p1 = Fma(p1, z4, Set(d, -0x1.51ee77e93b8c2p-48));
    p1 = Fma(p1, z4, Set(d, -0x1.7034f9aa26889p-33));
    p1 = Fma(p1, z4, Set(d, -0x1.3215d8b73a57fp-19));
    p1 = Fma(p1, z4, Set(d, -0x1.69a0ccda3df42p-6));
    V p2 = Set(d, 0x1.2d503acca573bp-104);
    p2 = Fma(p2, z4, Set(d, 0x1.f30eae4662e6ep-87));
    p2 = Fma(p2, z4, Set(d, 0x1.924d8e1d8c289p-69));
    p2 = Fma(p2, z4, Set(d, 0x1.52dbc02f9ffe0p-52));
    p2 = Fma(p2, z4, Set(d, 0x1.d6352d26fefeep-37));
    p2 = Fma(p2, z4, Set(d, 0x1.ea97f14d9d716p-23));
    p2 = Fma(p2, z4, Set(d, 0x1.0dabaf0613f8fp-9));
    V p3 = Set(d, -0x1.fa1e9b47e59e2p-92);
    p3 = Fma(p3, z4, Set(d, -0x1.367b651a888e8p-73));
    p3 = Fma(p3, z4, Set(d, -0x1.415f6f8deaeb0p-56));
    p3 = Fma(p3, z4, Set(d, -0x1.1a023da01a16dp-40));
    p3 = Fma(p3, z4, Set(d, -0x1.76e8649cf9827p-26));
    p3 = Fma(p3, z4, Set(d, -0x1.b92e95c193c44p-13));
    return Mul(x, Fma(Fma(p3, z, p2), z2, Fma(p1, z, p0)));
  }
};

// From 6 on, the result is as at 6.
struct ErfOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V limit = Set(d, 6.0);
    V a = Abs(x);
    a = IfThenElse(Gt(a, limit), limit, a);
    V tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low, error, step_error;
    ErfcAbout(d, a, Zero(d), tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low);
    V high = FastTwoSum(Set(d, 1.0), Neg(tail), error);
    high = FastTwoSum(high, step, step_error);
    const V low = Add(Add(error, step_error), Sub(step_low, tail_low));
    const V part = Fma(Abs(step), Set(d, 0x1p-65), Mul(high, Set(d, 0x1p-70)));
    return RoundOrWithSign(d, Ge(a, Set(d, 0x1p-900)), high, low, part, x, accurate::Erf, x);
  }
};

// About i / 64 (parts/double_erf.lane.h). From 6 on, the result is as at 6.
struct ErfDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V a = Abs(x), tail, tail_low, step, step_low, slope, w, h2, part, error, step_error;
    auto certain = Ge(a, Set(d, 0x1p-900));
    a = Min(a, Set(d, 6.0));
    QuickErfcAbout(d, a, tail, tail_low, step, step_low, slope, w, h2, part);
    const V start = FastTwoSum(Set(d, 1.0), Neg(tail), error), high = FastTwoSum(start, step, step_error);
    const V low = Add(Add(error, step_error), Sub(step_low, tail_low));
    const V y = RoundedWithin(high, low, Mul(high, part), certain);
    return IfCertain<ErfOfAnyDouble>(d, certain, CopySign(y, x), x);
  }
};

template <class V>
REPDL_LANE V Erf(V x) {
  return ViaDouble(ErfWide(), x);
}
