// SPDX-License-Identifier: MIT
/// floor((low + 2^32 high) / 2^11) 2^-53, of words in the low halves of 64-bit lanes: in [0, 1).
template <class D, class V>
REPDL_LANE auto Unit53Of(D d, V low, V high) {
  const auto di = TagFor(low);
  const V mask = Set(di, 0xffffffff), exponent = Set(di, 0x4330000000000000);
  const auto shift = Set(d, 0x1p52);  // an integer below 2^32 is what its bits in the fraction add to it
  const auto upper = Sub(BitCast(d, Or(And(high, mask), exponent)), shift);
  const auto lower = Sub(BitCast(d, Or(ShiftRightLogical<11>(And(low, mask)), exponent)), shift);
  return Add(Mul(upper, Set(d, 0x1p-32)), Mul(lower, Set(d, 0x1p-53)));
}
