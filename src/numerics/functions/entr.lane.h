// SPDX-License-Identifier: MIT
/*! entr
`-x log(x)`, the entropy of a share, correctly rounded. entr(±0) = +0, entr(1) = -0, entr(x) = -inf for x < 0, entr(+inf) = -inf.
*/

/// -z, z being x log(x), and the values where the logarithm is infinite or none.
template <class D, class V>
REPDL_LANE V EntrSpecials(D d, V x, V z) {
  const V zero = Zero(d);
  return IfThenElse(Lt(x, zero), Neg(Inf(d)), IfThenElse(Eq(x, zero), zero, Neg(z)));
}

struct EntrWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return EntrSpecials(d, x, XlogyWide()(d, x, x));
  }
};

template <class V>
REPDL_LANE V Entr(V x) {
  return ViaDouble(EntrWide(), x);
}

struct EntrFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = XlogyFormula::kBound;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return XlogyFormula::template Of<N>(d, n, x, x);
  }
};

struct EntrDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V z = Correctly<EntrFormula>(d, x), zero = Zero(d), infinity = Inf(d);
    return EntrSpecials(d, x, IfThenElse(Eq(x, Set(d, 1.0)), zero, IfThenElse(Eq(x, infinity), infinity, z)));
  }
};
