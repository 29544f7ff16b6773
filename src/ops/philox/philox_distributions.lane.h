// SPDX-License-Identifier: MIT
// Elements from words, of more distributions: see philox.lane.h. The contracts stand in philox.h.

/// Of a number of [0, 1), a single one.
REPDL_LANE double UniformDoubleOf(double unit, const PhiloxUniformDoubleConstants& c) {
  const double x = unit * c.range + c.low;
  return c.highest < x ? c.highest : x;
}

/// The rate of a geometric distribution.
template <class D>
REPDL_LANE auto GeometricRateOf(D d, float p) {
  return Neg(Log1p(Set(d, -p)));
}

struct PhiloxCauchyElement {
  PhiloxCauchyConstants c;

  template <class VI>
  REPDL_LANE auto operator()(VI word) const {
    const FloatTagOf<VI> d;
    const auto di = TagFor(word);
    // 2 floor(word / 2^9) + 1 - 2^23, of less than 24 bits.
    const auto odd = Add(ShiftLeft<1>(ShiftRightLogical<9>(word)), Set(di, 1 - (1 << 23)));
    const auto turns = Mul(FloatOf(odd), Set(d, 0x1p-24f));
    return Add(Mul(Div(SinPi(turns), CosPi(turns)), Set(d, c.sigma)), Set(d, c.median));
  }
};

/// The rate is -log1p(-p).
struct PhiloxGeometricElement {
  float rate, highest;

  template <class VI>
  REPDL_LANE auto operator()(VI word) const {
    const FloatTagOf<VI> d;
    const auto trials = Div(Neg(Log(OpenUnitOf(word))), Set(d, rate));
    const auto nearest = Round(trials);
    const auto above = IfThenElse(Lt(nearest, trials), Add(nearest, Set(d, 1.0f)), nearest);
    return Min(Max(above, Set(d, 1.0f)), Set(d, highest));
  }
};

struct PhiloxLogNormalPairs {
  PhiloxNormalPairs normal;

  template <class VI, class V>
  REPDL_LANE void operator()(VI w0, VI w1, VI w2, VI w3, V& v0, V& v1, V& v2, V& v3) const {
    normal(w0, w1, w2, w3, v0, v1, v2, v3);
    v0 = Exp(v0);
    v1 = Exp(v1);
    v2 = Exp(v2);
    v3 = Exp(v3);
  }
};
