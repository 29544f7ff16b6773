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

struct ErfOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(ErfWide(), x);
  }
};

REPDL_TABLE(ErfPieces, float, 208, 0x1.4p-1f, 0x1.cp-1f, 0x1.2p+0f, 0x1.6p+0f, 0x1.ap+0f, 0x1.ep+0f, 0x1.1p+1f,
            0x1.3p+1f, 0x1.6p+1f, 0x1.ap+1f, 0x1.dbp+1f, 0.0f, 0.0f, 0x1.8p-3f, 0x1.4p-2f, 0x1.cp-2f, 0x1.3f196ep-1f,
            0x1.91724ap-1f, 0x1.c6dad2p-1f, 0x1.e5768cp-1f, 0x1.f4f694p-1f, 0x1.fbe61ep-1f, 0x1.fea422p-1f,
            0x1.ff996p-1f, 0x1.fff2dp-1f, 0x1.ffff7p-1f, 0x1.fffffap-1f, 0x1.0p+0f, 0.0f, 0x1.ac45e4p-3f,
            0x1.5da9f4p-2f, 0x1.db081cp-2f, -0x1.978766p-28f, -0x1.5c8e08p-26f, 0x1.053d8cp-26f, 0x1.da51fep-28f,
            -0x1.2610a2p-27f, 0x1.de99eep-26f, -0x1.ca69aep-27f, 0x1.e7d664p-26f, -0x1.3eeb0ap-27f, -0x1.82606ap-27f,
            0x1.af44cap-26f, 0.0f, 0.0f, -0x1.003b5cp-28f, 0x1.5ff23ep-30f, 0x1.cdc548p-27f, 0x1.86e96ap-1f,
            0x1.0cab62p-1f, 0x1.45e99cp-2f, 0x1.5ce596p-3f, 0x1.499d48p-4f, 0x1.12ceb4p-5f, 0x1.94624ep-7f,
            0x1.06918cp-8f, 0x1.3360ccp-11f, 0x1.e9b5e8p-16f, 0x1.3caa62p-20f, 0.0f, 0x1.20dd76p+0f, 0x1.16e2d8p+0f,
            0x1.05fd3ep+0f, 0x1.dd167cp-1f, -0x1.e8a3c4p-2f, -0x1.d62becp-2f, -0x1.6ea6dp-2f, -0x1.dfbbaep-3f,
            -0x1.0bcfcap-3f, -0x1.01a1c8p-4f, -0x1.ada874p-6f, -0x1.37ccd6p-7f, -0x1.a6a51ap-10f, -0x1.8de3cep-14f,
            -0x1.25c81p-18f, 0.0f, 0.0f, -0x1.a25442p-3f, -0x1.477c8ep-2f, -0x1.a173acp-2f, -0x1.c8105p-5f,
            0x1.7c9d76p-4f, 0x1.4cb3dp-3f, 0x1.4374d8p-3f, 0x1.d6631ep-4f, 0x1.143d1cp-4f, 0x1.0ea476p-5f,
            0x1.c1ec1p-7f, 0x1.69cf46p-9f, 0x1.9aa48ap-13f, 0x1.5e350cp-17f, 0.0f, -0x1.812746p-2f, -0x1.59b3dap-2f,
            -0x1.1917b6p-2f, -0x1.889a8p-3f, 0x1.6963c8p-3f, 0x1.cc6056p-4f, 0x1.ca5084p-6f, -0x1.f3b8d4p-6f,
            -0x1.974c04p-5f, -0x1.5a3166p-5f, -0x1.afe554p-6f, -0x1.ae5962p-7f, -0x1.ab0c0ap-9f, -0x1.2c7d68p-12f,
            -0x1.2c6b26p-16f, 0.0f, 0x1.290912p-36f, 0x1.988648p-4f, 0x1.322a72p-3f, 0x1.6c2eeap-3f, -0x1.c1242ep-6f,
            -0x1.1350f4p-4f, -0x1.f65d16p-5f, -0x1.f572c6p-6f, -0x1.17d432p-9f, 0x1.779b1ep-7f, 0x1.9973b4p-7f,
            0x1.11dae4p-7f, 0x1.69358ep-9f, 0x1.490a4p-12f, 0x1.8966ep-16f, 0.0f, 0x1.ce2f22p-4f, 0x1.803428p-4f,
            0x1.04c50ap-4f, 0x1.b06454p-6f, -0x1.52b1eep-5f, -0x1.53bd94p-7f, 0x1.fd197ap-7f, 0x1.6b168ap-6f,
            0x1.d858dap-7f, 0x1.0d0b9ap-8f, -0x1.dd7668p-10f, -0x1.982bb6p-9f, -0x1.b28756p-10f, -0x1.1451ap-12f,
            -0x1.9665b8p-16f, 0.0f, 0x1.a9bdp-24f, -0x1.09e7aep-5f, -0x1.7ce75p-5f, -0x1.a3fd8cp-5f, 0x1.c7cbe2p-7f,
            0x1.30aba2p-6f, 0x1.3accecp-7f, -0x1.73f8bep-10f, -0x1.954a0cp-8f, -0x1.42fd1ap-8f, -0x1.ea05acp-10f,
            0x1.027ebp-13f, 0x1.52c056p-11f, 0x1.64871ep-13f, 0x1.514b18p-16f, 0.0f, -0x1.b835dep-6f, -0x1.516b16p-6f,
            -0x1.68aacp-7f, 0x1.060824p-13f, 0x1.b4aeacp-8f, -0x1.dca1ecp-10f, -0x1.88e8b6p-8f, -0x1.16964ep-8f,
            -0x1.34111cp-11f, 0x1.73cecp-10f, 0x1.69a09cp-10f, 0x1.385fdap-11f, -0x1.588fp-14f, -0x1.579716p-14f,
            -0x1.cc728p-17f, 0.0f, 0x1.7979d6p-16f, 0x1.032806p-7f, 0x1.6226dap-7f, 0x1.6711d4p-7f, -0x1.d9769p-9f,
            -0x1.a949d6p-9f, -0x1.7f73d2p-12f, 0x1.9ade9p-10f, 0x1.70c5bep-10f, 0x1.7e413ap-12f, -0x1.2cc108p-12f,
            -0x1.60e2bap-12f, -0x1.32eac2p-14f, 0x1.aca84cp-16f, 0x1.e8e4a4p-18f, 0.0f, 0x1.4fe216p-8f, 0x1.e10d9ep-9f,
            0x1.6bc504p-10f, -0x1.1d58f4p-10f, -0x1.7d968cp-26f, -0x1.ef68dap-30f, -0x1.a24376p-29f, -0x1.dd527ap-30f,
            -0x1.d0d632p-30f, -0x1.000c88p-30f, 0x1.e383ecp-33f, -0x1.39553cp-33f, 0x1.a47b68p-36f, 0x1.a019cep-41f,
            -0x1.3f00dcp-45f, 0.0f, -0x1.f7ac92p-25f, -0x1.ed864ep-25f, 0x1.97d852p-25f, 0x1.33e74ap-27f)
// In floats. Pieces are of one width where 1.5 + |x| has one exponent, an eighth of its power of two. From 4 on the
// result is 1; of tiny x, low parts would be subnormal.
template <class V>
REPDL_LANE V Erf(V x) {
  const auto d = TagFor(x);
  const IntTag<decltype(TagFor(x))> di;
  const V a = Abs(x);
  V low, bend, y;
  const auto index = ShiftRightLogical<20>(BitCast(di, Min(Add(a, Set(d, 1.5f)), Set(d, 5.5f))));
  const V high = PieceOfFloat<16, 8, true>(d, ErfPieces(), index, a, low, bend);
  const auto certain = And(PieceRounds(d, high, low, bend, y), Ge(a, Set(d, 0x1p-100f)));
  return IfCertain<ErfOfAnyFloat>(d, certain, CopySign(y, x), x);
}
