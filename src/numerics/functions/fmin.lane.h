// SPDX-License-Identifier: MIT
/*! fmin
The smaller of two numbers, as minimumNumber of IEEE 754-2019: `minimum`, but the number where one is NaN. The operands are
broadcast.
*/
template <class V>
REPDL_LANE V Fmin(V x, V y) {
  return IfThenElse(IsNaN(x), y, IfThenElse(IsNaN(y), x, Minimum(x, y)));
}
