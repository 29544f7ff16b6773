// SPDX-License-Identifier: MIT
/*! square
`x * x`, rounded once.
*/
struct SquareWide {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return Mul(x, x);
  }
};

template <class V>
REPDL_LANE V Square(V x) {
  return Mul(x, x);
}
