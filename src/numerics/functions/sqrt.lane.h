// SPDX-License-Identifier: MIT
/*! sqrt
`output = sqrt(input)`, rounded once; NaN for input < 0, -0 for -0.
*/
// Sqrt is a lane word.
struct SqrtWide {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return Sqrt(x);
  }
};
