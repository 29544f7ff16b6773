// SPDX-License-Identifier: MIT
/*! log10
`log10(x)`, correctly rounded, so exact for powers of ten. log10(±0) = -inf, log10(x) = NaN for x < 0, log10(1) = +0,
log10(+inf) = +inf.
*/

// For 0 < x < inf.
struct Log10OfFinite {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V log2;
    const V scale = LogScale(d, x, log2);
    const V near_one = Mul(LogNearOne(d, Fma(x, scale, Set(d, -1.0))), Set(d, 0x1.bcb7b1526e50ep-2));  // 1 / ln 10
    return Fma(log2, Set(d, 0x1.34413509f79ffp-2), near_one);                                          // log10(2)
  }
};

struct Log10Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Zero(d), Log10OfFinite()(d, x));
  }
};

struct Log10OfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V y = ViaDouble(Log10OfFinite(), x);
    y = Patch(d, x, y, 0x1.fddcf4p-98, -0x1.d33a46p+4);
    return LogSpecials(d, x, Zero(d), y);
  }
};

template <class V>
REPDL_LANE V Log10(V x) {
  const auto d = TagFor(x);
  V low, bound;
  const V high = QuickLogOfFloat(d, x, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f, low, bound);
  return IfCertainLogOfFloat<Log10OfAnyFloat>(d, high, low, bound, x);
}

struct Log10Formula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    const N reciprocal = Constant<N>(d, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.ee191f71a3012p-112);
    return Times(LogOfDouble<N>(d, x), reciprocal);  // 1 / ln 10
  }
};

struct Log10OfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Zero(d), Correctly<Log10Formula>(d, x));
  }
};

struct Log10Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, bound;
    const V log = QuickLog(d, x, low, bound);
    const V high = LogToBase(d, log, low, bound, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
    return IfCertainLog<Log10OfAnyDouble>(d, high, low, bound, x);
  }
};
