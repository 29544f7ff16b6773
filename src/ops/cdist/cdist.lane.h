// SPDX-License-Identifier: MIT
// The steps of distances and their gradients, in lane words; the contracts stand in cdist.h.

// What the norms add: the size of a difference.
struct Zeroth {
  template <class V>
  REPDL_LANE V operator()(V difference) const {
    const auto d = TagFor(difference);
    return IfThenZeroElse(Eq(difference, Zero(d)), Set(d, 1));
  }
};
struct First {
  template <class V>
  REPDL_LANE V operator()(V difference) const {
    return Abs(difference);
  }
};
struct Second {
  template <class V>
  REPDL_LANE V operator()(V difference) const {
    return Mul(difference, difference);
  }
};

// Derivatives of a distance by a difference.
struct NoSlope {
  template <class V>
  REPDL_LANE V operator()(V difference, V) const {
    return Zero(TagFor(difference));
  }
};
struct Sign {
  template <class V>
  REPDL_LANE V operator()(V difference, V) const {
    const auto d = TagFor(difference);
    const V zero = Zero(d), one = Set(d, 1);
    return IfThenElse(Gt(difference, zero), one, IfThenElse(Lt(difference, zero), Neg(one), zero));
  }
};
struct SignOfLargest {
  template <class V>
  REPDL_LANE V operator()(V difference, V distance) const {
    return IfThenElseZero(Eq(Abs(difference), distance), Sign()(difference, distance));
  }
};
struct Quotient {
  template <class V>
  REPDL_LANE V operator()(V difference, V distance) const {
    const V zero = Zero(TagFor(difference));
    return IfThenZeroElse(Or(Eq(distance, zero), Eq(difference, zero)), Div(difference, distance));
  }
};

/// The same of any other p: `power` and `of_distance` are those of the difference's size and the distance.
template <class V>
REPDL_LANE V SlopeOfPowers(V difference, V power, V distance, V of_distance) {
  const V zero = Zero(TagFor(difference));
  const V signed_power = Mul(Sign()(difference, zero), power);
  return IfThenZeroElse(Or(Eq(distance, zero), Eq(difference, zero)), Div(signed_power, of_distance));
}
