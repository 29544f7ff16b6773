// SPDX-License-Identifier: MIT
/*! exp
`exp(x)`, correctly rounded. exp(-inf) = +0, exp(+inf) = +inf; subnormal results round as any other.
*/

// Beyond the limits the result is +0 or +inf all the same.
struct ExpWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ExpOf(d, Limit(x, Set(d, -110.0), Set(d, 100.0)));
  }
};

struct ExpOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(ExpWide(), x);
  }
};

// Where floats do not tell how to round, and where the result may be subnormal or overflow, the answer is that of
// ExpWide: that is faster than doubles for all.
template <class V>
REPDL_LANE V Exp(V x) {
  const auto d = TagFor(x);
  V low;
  auto exponent = Zero(IntTag<decltype(TagFor(x))>());
  const V high = QuickExpOfFloat(d, x, low, exponent);
  return IfCertainExpOfFloat<ExpOfAnyFloat>(d, high, low, exponent, 87.0f, x);
}

struct ExpFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return ExpOver(d, Exactly<N>(d, Limit(x, Set(d, -750.0), Set(d, 720.0))), n);
  }
};

struct ExpOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<ExpFormula>(d, x);
  }
};

struct ExpDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low;
    auto exponent = Zero(IntTag<D>());
    const V high = QuickExpOver(d, x, low, exponent);
    return IfCertainExp<ExpOfAnyDouble>(d, high, low, exponent, 708.0, x);
  }
};
