// SPDX-License-Identifier: MIT
/*! log
`log(x)`, correctly rounded. log(±0) = -inf, log(x) = NaN for x < 0, log(1) = +0, log(+inf) = +inf.
*/

// For 0 < x < inf.
struct LogOfFinite {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V log2;
    const V scale = LogScale(d, x, log2);
    return LogOf(d, Fma(x, scale, Set(d, -1.0)), log2);
  }
};

struct LogWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Zero(d), LogOfFinite()(d, x));
  }
};

struct LogOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V y = ViaDouble(LogOfFinite(), x);
    y = Patch(d, x, y, 0x1.bacb4ap+25, 0x1.1e0696p+4);
    y = Patch(d, x, y, 0x1.b121a6p+76, 0x1.a9a3f2p+5);
    return LogSpecials(d, x, Zero(d), y);
  }
};

template <class V>
REPDL_LANE V Log(V x) {
  const auto d = TagFor(x);
  V low, bound;
  const V high = QuickLogOfFloat(d, x, low, bound);
  return IfCertainLogOfFloat<LogOfAnyFloat>(d, high, low, bound, x);
}

struct LogFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    return LogOfDouble<N>(d, x);
  }
};

struct LogOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Zero(d), Correctly<LogFormula>(d, x));
  }
};

struct LogDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, bound;
    const V high = QuickLog(d, x, low, bound);
    return IfCertainLog<LogOfAnyDouble>(d, high, low, bound, x);
  }
};
