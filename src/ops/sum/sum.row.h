// SPDX-License-Identifier: MIT
// The terms of norm, var and std, in lane words; the contracts stand in sum.h.

template <class V>
REPDL_ROW V SquareOf(V x) {
  return Mul(x, x);
}

template <class V>
REPDL_ROW V SquaredDistance(V x, V centre) {
  return SquareOf(Sub(x, centre));
}
