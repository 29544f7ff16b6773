// SPDX-License-Identifier: MIT
/*! clamp_min
`other` where `input < other` or `other` is NaN, else `input`: what equals the bound stays, so -0 stays with a bound of +0, as in
`relu`, and so does NaN. The operands are broadcast.
*/
template <class V>
REPDL_LANE V ClampMin(V x, V bound) {
  return IfThenElse(Or(Lt(x, bound), IsNaN(bound)), bound, x);
}

/*! clamp_max
`other` where `input > other` or `other` is NaN, else `input`: what equals the bound stays, and so does NaN. The operands are
broadcast.
*/
template <class V>
REPDL_LANE V ClampMax(V x, V bound) {
  return IfThenElse(Or(Gt(x, bound), IsNaN(bound)), bound, x);
}
