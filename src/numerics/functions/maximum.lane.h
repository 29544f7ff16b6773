// SPDX-License-Identifier: MIT
/*! maximum
The larger of two numbers, as maximum of IEEE 754-2019: +0 is larger than -0, and NaN if one is NaN. The operands are
broadcast.
*/
template <class V>
REPDL_LANE V Maximum(V x, V y) {
  const decltype(TagFor(x)) d;
  const IntTag<decltype(TagFor(x))> di;
  // Equal numbers have the same bits, or are zeros, of which one of another sign is +0.
  const V equal = BitCast(d, And(BitCast(di, x), BitCast(di, y)));
  return IfThenElse(Eq(x, y), equal, IfThenElse(Or(Gt(x, y), IsNaN(x)), x, y));
}
