// SPDX-License-Identifier: MIT
/*! minimum
The smaller of two numbers, as minimum of IEEE 754-2019: -0 is smaller than +0, and NaN if one is NaN. The operands are
broadcast.
*/
template <class V>
REPDL_LANE V Minimum(V x, V y) {
  const decltype(TagFor(x)) d;
  const IntTag<decltype(TagFor(x))> di;
  // Equal numbers have the same bits, or are zeros, of which one of another sign is -0.
  const V equal = BitCast(d, Or(BitCast(di, x), BitCast(di, y)));
  return IfThenElse(Eq(x, y), equal, IfThenElse(Or(Lt(x, y), IsNaN(x)), x, y));
}
