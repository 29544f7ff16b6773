// SPDX-License-Identifier: MIT
// bfloat16 and float16, as the low half of an int32 lane.

template <class VI>
REPDL_LANE auto WidenBFloat16(VI half) {
  const FloatTagOf<VI> d;
  return BitCast(d, ShiftLeft<16>(half));
}

template <class VI>
REPDL_LANE auto WidenFloat16(VI half) {
  const FloatTagOf<VI> d;
  const IntTag<FloatTagOf<VI>> di;
  const auto sign = ShiftLeft<16>(And(half, Set(di, 0x8000)));
  const auto magnitude = ShiftLeft<13>(And(half, Set(di, 0x7fff)));
  // A product by a power of two sets the exponent right, of subnormals too.
  const auto finite = BitCast(di, Mul(BitCast(d, magnitude), Set(d, 0x1p112f)));
  const auto is_finite = Lt(magnitude, Set(di, 0x0f800000));
  return BitCast(d, Or(sign, IfThenElse(is_finite, finite, Or(magnitude, Set(di, 0x7f800000)))));
}

/// x rounded to nearest even. Bits above the low half are of no meaning.
template <class V>
REPDL_LANE auto NarrowBFloat16(V x) {
  const IntTag<decltype(TagFor(x))> di;
  const auto bits = BitCast(di, x);
  const auto odd = And(ShiftRight<16>(bits), Set(di, 1));
  const auto rounded = ShiftRight<16>(Add(bits, Add(odd, Set(di, 0x7fff))));
  return IfThenElse(MaskTo(di, IsNaN(x)), Set(di, 0x7fc0), rounded);
}

template <class V>
REPDL_LANE auto NarrowFloat16(V x) {
  const auto d = TagFor(x);
  const IntTag<decltype(TagFor(x))> di;
  const V magnitude = Abs(x);
  const auto bits = BitCast(di, magnitude);
  const auto sign = And(ShiftRight<16>(BitCast(di, x)), Set(di, 0x8000));
  const auto odd = And(ShiftRight<13>(bits), Set(di, 1));
  const auto normal = ShiftRight<13>(Add(bits, Add(odd, Set(di, 0xfff - (112 << 23)))));
  // A sum in [1/2, 1) counts in units of 2^-24, those of subnormals.
  const auto subnormal = Sub(BitCast(di, Add(magnitude, Set(d, 0.5f))), Set(di, 0x3f000000));
  auto half = IfThenElse(MaskTo(di, Lt(magnitude, Set(d, 0x1p-14f))), subnormal, normal);
  half = IfThenElse(MaskTo(di, Ge(magnitude, Set(d, 0x1p16f))), Set(di, 0x7c00), half);
  half = IfThenElse(MaskTo(di, IsNaN(x)), Set(di, 0x7e00), half);
  return Or(sign, half);
}
