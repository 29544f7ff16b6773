// SPDX-License-Identifier: MIT
/*! atan
`atan(x)`, correctly rounded. atan(±0) = ±0, atan(±inf) = ±pi / 2, rounded.
*/

// In double: atan(|x|) = base + atan(t), t = |x|, (|x| - 1) / (|x| + 1) or -1 / |x|: parts/atan.lane.h. It leans
// to the larger by 2^-53, for the one result that is so little above a midpoint that the double is on it.
struct AtanWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V num, den, base, base_low;
    AtanReduce(d, Abs(x), Set(d, 1.0), num, den, base, base_low);
    const V t = Div(num, den);
    base_low = Fma(t, Set(d, 0x1p-53), base_low);
    return CopySign(Add(base, Add(t, AtanTail(d, t, base_low))), x);
  }
};

struct AtanDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0), limit = Set(d, 0x1p64), zero = Zero(d);
    V a = Abs(x);
    a = IfThenElse(Gt(a, limit), limit, a);  // the result is the same
    const auto swap = Gt(a, one);
    V low;
    V high = AtanPair(d, IfThenElse(swap, one, a), zero, IfThenElse(swap, a, one), zero, low);
    high = AngleFrom(d, IfThenElseZero(swap, Set(d, 0x1.921fb54442d18p+0)), IfThenElse(swap, Neg(high), high),
                     IfThenElse(swap, Neg(low), low), low);
    return RoundOrWithSign(d, Le(a, limit), high, low, Mul(high, Set(d, 0x1p-67)), x, accurate::Atan, x);
  }
};

struct AtanOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(AtanWide(), x);
  }
};

REPDL_TABLE(AtanPieces, float, 144, 0.0f, 0x1.11039ap-4f, 0x1.10fa82p-3f, 0x1.99799cp-3f, 0x1.110028p-2f,
            0x1.558342p-2f, 0x1.997d46p-2f, 0x1.de0a0ep-2f, 0x1.10fcdep-1f, 0x1.32f74cp-1f, 0x1.556de4p-1f,
            0x1.777beep-1f, 0x1.9986cep-1f, 0x1.bb794ap-1f, 0x1.ddfbbap-1f, 0x1.0p+0f, 0.0f, 0x1.109c6p-4f,
            0x1.0f6104p-3f, 0x1.94255cp-3f, 0x1.0acb9p-2f, 0x1.49a24ep-2f, 0x1.858b0cp-2f, 0x1.bf3f7ap-2f,
            0x1.f597ecp-2f, 0x1.1485dp-1f, 0x1.2d1faep-1f, 0x1.43fa8ep-1f, 0x1.596c2ep-1f, 0x1.6d7758p-1f,
            0x1.8089bcp-1f, 0x1.921fb6p-1f, 0.0f, -0x1.ace3e6p-30f, -0x1.6ec476p-28f, 0x1.b482dcp-28f, 0x1.7b7d4cp-27f,
            0x1.48132ap-27f, -0x1.cc871p-27f, -0x1.8174ap-27f, -0x1.8d32c4p-27f, -0x1.90b3e8p-26f, -0x1.625a48p-26f,
            0x1.71a6ap-26f, 0x1.e95c9cp-26f, -0x1.511c2cp-27f, -0x1.eadf68p-26f, -0x1.777a5cp-26f, 0x1.0p+0f,
            0x1.fdbc42p-1f, 0x1.f70ffcp-1f, 0x1.ec51bap-1f, 0x1.de060ep-1f, 0x1.ccc066p-1f, 0x1.b96986p-1f,
            0x1.a46236p-1f, 0x1.8eaabcp-1f, 0x1.789f56p-1f, 0x1.626676p-1f, 0x1.4cefeap-1f, 0x1.383d22p-1f,
            0x1.248854p-1f, 0x1.11927p-1f, 0x1.0p-1f, 0.0f, -0x1.0e9ab2p-4f, -0x1.07880ap-3f, -0x1.7a99b8p-3f,
            -0x1.dbf0b6p-3f, -0x1.14913p-2f, -0x1.305cd6p-2f, -0x1.42443ep-2f, -0x1.4b0502p-2f, -0x1.4c31d6p-2f,
            -0x1.472c8ep-2f, -0x1.3d8bbp-2f, -0x1.309c7ap-2f, -0x1.2189dep-2f, -0x1.10ed42p-2f, -0x1.0p-2f,
            -0x1.555556p-2f, -0x1.4c55b6p-2f, -0x1.32830cp-2f, -0x1.0b1262p-2f, -0x1.b51d2ep-3f, -0x1.4b7f4p-3f,
            -0x1.c72db4p-4f, -0x1.05a126p-4f, -0x1.7b68fcp-6f, 0x1.54a5c4p-7f, 0x1.2e8c66p-5f, 0x1.cca034p-5f,
            0x1.1cad4ap-4f, 0x1.3e7ef2p-4f, 0x1.5049b6p-4f, 0x1.555556p-4f, -0x1.623fe8p-20f, 0x1.0b062ap-4f,
            0x1.f3c84cp-4f, 0x1.500f66p-3f, 0x1.8161b6p-3f, 0x1.8e1ee6p-3f, 0x1.7c18bap-3f, 0x1.53d01ap-3f,
            0x1.1f47fcp-3f, 0x1.cc8cc2p-4f, 0x1.5c313cp-4f, 0x1.f075e8p-5f, 0x1.467968p-5f, 0x1.79b878p-6f,
            0x1.405106p-7f, 0x1.d753bp-40f, 0x1.9a016ap-3f, 0x1.7e8152p-3f, 0x1.34cd52p-3f, 0x1.9973d8p-4f,
            0x1.6dda54p-5f, -0x1.80605ap-8f, -0x1.6ee728p-5f, -0x1.1f81d4p-4f, -0x1.510434p-4f, -0x1.578c74p-4f,
            -0x1.3fdac6p-4f, -0x1.17366p-4f, -0x1.cf219ap-5f, -0x1.6ff95ap-5f, -0x1.17a0fp-5f, -0x1.99cd98p-6f,
            -0x1.37a36ep-7f, -0x1.059868p-4f, -0x1.cdc58p-4f, -0x1.18c27p-3f, -0x1.158754p-3f, -0x1.d17934p-4f,
            -0x1.4b0feap-4f, -0x1.78e096p-5f, -0x1.035cf4p-6f, 0x1.b013cep-8f, 0x1.54f6b6p-6f, 0x1.c8e58p-6f,
            0x1.e740f6p-6f, 0x1.cea268p-6f, 0x1.97d534p-6f, 0x1.55555p-6f)
// In floats: of |x|, or pi / 2 less that of 1 / |x|, in pieces about each 15th. In the latter a part of pi / 2 counts as
// bend, so that more is uncertain than what these sums lose.
template <class V>
REPDL_LANE V Atan(V x) {
  const auto d = TagFor(x);
  const IntTag<decltype(TagFor(x))> di;
  const V a = Abs(x), one = Set(d, 1.0f);
  const auto big = Gt(a, one);
  const V inverse = Div(one, a), t = IfThenElse(big, inverse, a);
  const V t_low = IfThenElseZero(big, Mul(Fma(Neg(inverse), a, one), inverse));
  V low, bend, error, y;
  const auto index = BitCast(di, Fma(t, Set(d, 15.0f), Set(d, 0x1.8p23f)));
  V high = PieceOfFloats<16, 5, false, true>(d, AtanPieces(), index, t, t_low, low, bend);
  high = IfThenElse(big, Neg(high), high);
  low = IfThenElse(big, Sub(Set(d, -0x1.dde974p-27f), low), low);
  bend = IfThenElse(big, Sub(Set(d, -0x1p-25f), bend), bend);
  high = FastTwoSum(IfThenElseZero(big, Set(d, 0x1.921fb6p+0f)), high, error);
  const auto certain = PieceRounds(d, high, Add(low, error), bend, y);
  return IfCertain<AtanOfAnyFloat>(d, certain, CopySign(y, x), x);
}
