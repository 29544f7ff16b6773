// SPDX-License-Identifier: MIT
/*! log2
`log2(x)`, correctly rounded, so exact for powers of two. log2(±0) = -inf, log2(x) = NaN for x < 0, log2(1) = +0,
log2(+inf) = +inf.
*/

// For 0 < x < inf.
struct Log2OfFinite {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V log2;
    const V scale = LogScale(d, x, log2);
    return Fma(LogNearOne(d, Fma(x, scale, Set(d, -1.0))), Set(d, 0x1.71547652b82fep+0), log2);  // 1 / ln 2
  }
};

struct Log2Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Zero(d), Log2OfFinite()(d, x));
  }
};

struct Log2OfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Zero(d), ViaDouble(Log2OfFinite(), x));
  }
};

template <class V>
REPDL_LANE V Log2(V x) {
  const auto d = TagFor(x);
  V low, bound;
  const V high = QuickLogOfFloat(d, x, 0x1.715476p+0f, 0x1.4ae0cp-26f, low, bound);
  return IfCertainLogOfFloat<Log2OfAnyFloat>(d, high, low, bound, x);
}

struct Log2Formula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    const N reciprocal = Constant<N>(d, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, -0x1.60bb8a5442ab9p-110);
    return Times(LogOfDouble<N>(d, x), reciprocal);  // 1 / ln 2
  }
};

struct Log2OfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Zero(d), Correctly<Log2Formula>(d, x));
  }
};

struct Log2Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, bound;
    const V log = QuickLog(d, x, low, bound);
    const V high = LogToBase(d, log, low, bound, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
    return IfCertainLog<Log2OfAnyDouble>(d, high, low, bound, x);
  }
};
