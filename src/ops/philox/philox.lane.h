// SPDX-License-Identifier: MIT
// Elements from words: four of each from a block, or from a vector of blocks. The contracts stand in philox.h.

/// Each element from a word of its own.
template <class Element>
struct EachWord {
  Element element;

  template <class VI, class V>
  REPDL_LANE void operator()(VI w0, VI w1, VI w2, VI w3, V& v0, V& v1, V& v2, V& v3) const {
    v0 = element(w0);
    v1 = element(w1);
    v2 = element(w2);
    v3 = element(w3);
  }
};

/// The word itself, for integers.
struct PhiloxWord {
  template <class VI>
  REPDL_LANE auto operator()(VI word) const {
    return BitCast(FloatTagOf<VI>(), word);
  }
};

struct PhiloxUniformElement {
  PhiloxUniformConstants c;

  template <class VI>
  REPDL_LANE auto operator()(VI word) const {
    const FloatTagOf<VI> d;
    return Min(Fma(UnitOf(word), Set(d, c.range), Set(d, c.low)), Set(d, c.highest));
  }
};

struct PhiloxBernoulliElement {
  PhiloxBernoulliConstants c;

  template <class VI>
  REPDL_LANE auto operator()(VI word) const {
    const FloatTagOf<VI> d;
    const auto di = TagFor(word);
    // Unsigned numbers compare as signed ones do with the highest bit changed.
    const auto highest_bit = Set(di, INT32_MIN);
    const auto is_below = Lt(Xor(word, highest_bit), Xor(Set(di, static_cast<int32_t>(c.threshold)), highest_bit));
    return IfThenElse(MaskTo(d, is_below), Set(d, 1.0f), Set(d, c.otherwise));
  }
};

struct PhiloxExponentialElement {
  PhiloxExponentialConstants c;

  template <class VI>
  REPDL_LANE auto operator()(VI word) const {
    return Div(Neg(Log(OpenUnitOf(word))), Set(FloatTagOf<VI>(), c.lambd));
  }
};

/// Two elements from two words (Box and Muller, 1958).
struct PhiloxNormalPairs {
  PhiloxNormalConstants c;

  template <class VI, class V>
  REPDL_LANE void Pair(VI first, VI second, V& a, V& b) const {
    const FloatTagOf<VI> d;
    const V radius = Sqrt(Mul(Log(OpenUnitOf(first)), Set(d, -2.0f)));
    const V angle = Mul(UnitOf(second), Set(d, 2.0f));
    a = Fma(Set(d, c.std), Mul(radius, CosPi(angle)), Set(d, c.mean));
    b = Fma(Set(d, c.std), Mul(radius, SinPi(angle)), Set(d, c.mean));
  }
  template <class VI, class V>
  REPDL_LANE void operator()(VI w0, VI w1, VI w2, VI w3, V& v0, V& v1, V& v2, V& v3) const {
    Pair(w0, w1, v0, v1);
    Pair(w2, w3, v2, v3);
  }
};
