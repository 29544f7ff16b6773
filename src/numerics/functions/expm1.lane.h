// SPDX-License-Identifier: MIT
/*! expm1
`exp(x) - 1`, correctly rounded. expm1(±0) = ±0, expm1(-inf) = -1, expm1(+inf) = +inf.
*/

// Beyond the limits the result is -1 or +inf all the same.
struct Expm1Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return CopySign(Expm1Of(d, Limit(x, Set(d, -50.0), Set(d, 100.0))), x);
  }
};

template <class V>
REPDL_LANE V Expm1(V x) {
  return ViaDouble(Expm1Wide(), x);
}

struct Expm1Formula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return Expm1Over(d, Exactly<N>(d, Limit(x, Set(d, -50.0), Set(d, 720.0))), n);
  }
};

struct Expm1OfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Lt(Abs(x), Set(d, 0x1p-54)), x, Correctly<Expm1Formula>(d, x));
  }
};

struct Expm1Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const Pair<V> sum = QuickExpm1<false>(d, x);
    auto certain = Le(Abs(x), Set(d, 700.0));
    const V y = RoundedWithin(V(sum.high), V(sum.low), Mul(V(sum.high), Set(d, 0x1p-63)), certain);
    return IfCertain<Expm1OfAnyDouble>(d, certain, CopySign(y, x), x);
  }
};
