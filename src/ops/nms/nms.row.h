// SPDX-License-Identifier: MIT
// Boxes that meet, in lane words; the contract stands in nms.h.

template <class V>
REPDL_LANE V AreaOf(V x1, V y1, V x2, V y2) {
  return Mul(Sub(x2, x1), Sub(y2, y1));
}

/// A NaN among the coordinates makes an area NaN, and so the quotient; so it does not matter what Max makes of it.
template <class V>
REPDL_LANE V AreaOfBoth(V x1, V y1, V x2, V y2, V other_x1, V other_y1, V other_x2, V other_y2) {
  const V zero = Zero(TagFor(x1));
  const V width = Max(Sub(Min(x2, other_x2), Max(x1, other_x1)), zero);
  const V height = Max(Sub(Min(y2, other_y2), Max(y1, other_y1)), zero);
  return Mul(width, height);
}

/// Whether a box covers the other one, `inter` being the area of both.
template <class V>
REPDL_LANE auto IsCovered(V inter, V area, V other_area, V threshold) {
  return Gt(Div(inter, Sub(Add(other_area, area), inter)), threshold);
}
