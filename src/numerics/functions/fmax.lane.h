// SPDX-License-Identifier: MIT
/*! fmax
The larger of two numbers, as maximumNumber of IEEE 754-2019: `maximum`, but the number where one is NaN. The operands are
broadcast.
*/
template <class V>
REPDL_LANE V Fmax(V x, V y) {
  return IfThenElse(IsNaN(x), y, IfThenElse(IsNaN(y), x, Maximum(x, y)));
}
