// SPDX-License-Identifier: MIT
// The steps of the incomplete gamma functions, of doubles: what leads their series and fractions, with pairs and with
// triples, and these. Constants from tools/coefficients/gamma.py.

REPDL_TABLE(
    TemmeSeries, double, 180, -0x1.5555555555555p-2, 0x1.5555555555555p-4, -0x1.e573ac901e574p-7, 0x1.2f684bda12f68p-10,
    0x1.71de3a556c734p-12, -0x1.76e06fec7273bp-13, 0x1.48c5892f7cd83p-15, -0x1.255370652afc1p-19,
    -0x1.f1b22f594c6b5p-20, 0x1.bd6d21e4b4109p-21, -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28, 0x1.6097d55c37c1cp-27,
    -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31, -0x1.c0d9b6edf2b0bp-36, -0x1.0070a87340428p-34,
    0x1.ac9475c463659p-36, -0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9, 0x1.5ac056b015ac0p-9, -0x1.0394f6f09e723p-10,
    0x1.af83440e53dbcp-13, -0x1.af83440e53dbcp-22, -0x1.2fa4ae89e5af0p-16, 0x1.00a9cabd6b83ep-17,
    -0x1.b0bdfcc629cbap-20, 0x1.3f59230a8357cp-28, 0x1.280f2cde3f847p-23, -0x1.ee23d0cba8aeep-25, 0x1.9aa7a30de114cp-27,
    -0x1.349fbca3a377bp-36, -0x1.1564ecff73d58p-30, 0x1.c9b434bf3c34ep-32, -0x1.78a5056f8ce45p-34,
    0x1.113e3a466db9ep-44, 0x1.0ee643b990ee6p-8, -0x1.5f7268edab4c8p-9, 0x1.948b0fcd6e9e0p-11, 0x1.0db20a88f4696p-19,
    -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15, -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25, 0x1.7058929663937p-20,
    -0x1.522cb05171911p-21, 0x1.32ac81c15d3d7p-23, -0x1.c24bd0e740a6cp-33, -0x1.e437343a46f5dp-27,
    0x1.ac0d455e25360p-28, -0x1.77c5829460139p-30, 0x1.0962774f638bbp-40, 0x1.1b1056c188672p-33, -0x1.e9778dbc61371p-35,
    0x1.547d93b34e2b6p-11, 0x1.e13ce465fa859p-13, -0x1.ebfb188b7ca00p-12, 0x1.18b9b5bf2d984p-12, -0x1.3d2a3a29b5d9dp-14,
    -0x1.0152a1871f27ap-22, 0x1.73df462204ef4p-17, -0x1.7cd6f27b3f020p-18, 0x1.7e0201539310ep-20,
    -0x1.ea23269c140a7p-36, -0x1.6c2dcffbefeefp-23, 0x1.5bde8ef4c4dc7p-24, -0x1.4853ced169327p-26,
    0x1.50c3f0dd501ebp-39, 0x1.1b66a39794ba9p-29, -0x1.040c53b2491f0p-30, 0x1.d9b15465daec1p-33, -0x1.f46057e1c9d1fp-47,
    -0x1.c3e0b02da7bf9p-11, 0x1.9b0ff6874f2c4p-11, -0x1.3999a85a4237ap-12, -0x1.88f2ae1def9d0p-20,
    0x1.16908b48ce058p-14, -0x1.4ce3fd902bcadp-15, 0x1.7db4c02846e81p-17, 0x1.13b3c5b7cb45ep-32, -0x1.c71c074985d3fp-20,
    0x1.de37d9f09164cp-21, -0x1.ec676cf33153cp-23, 0x1.041515bab6adap-35, 0x1.efe94304ac16bp-26, -0x1.e78e449f4e3bep-27,
    0x1.d9a9f1a8b7696p-29, -0x1.033ba70791e5ep-42, -0x1.b14f212618752p-32, 0x1.9911dbca7ce93p-33,
    -0x1.6128ac5a4fa71p-12, -0x1.247604839c038p-14, 0x1.22be87360ef1fp-12, -0x1.a2042c5148e27p-13,
    0x1.1d1e9cb24760bp-14, 0x1.30bdcf208080ep-23, -0x1.c823fc1b3cc36p-17, 0x1.0d0e229150428p-17, -0x1.338eb19652fd9p-19,
    -0x1.659cfde0bb2ebp-32, 0x1.741504e5c87c2p-22, -0x1.8c267becd0c0fp-23, 0x1.9e630225a095bp-25,
    -0x1.4411c5ac40e35p-46, -0x1.b15bbf334c8c3p-28, 0x1.b2a3adb58623dp-29, -0x1.af0f32d677057p-31,
    0x1.762c060bd9bdap-48, 0x1.168ef1b0931c8p-11, -0x1.36773bdb97b48p-11, 0x1.1c0950d3ecb9dp-12, 0x1.a8411da6cab49p-21,
    -0x1.5600945495b37p-14, 0x1.d6bdf83130dc1p-15, -0x1.3382f4cf48618p-16, -0x1.a74243fa27729p-29,
    0x1.d115d4f5dcc68p-19, -0x1.10587854fcb37p-19, 0x1.36c8903447d35p-21, 0x1.074e709bf4b8bp-42, -0x1.7b2f7de505322p-24,
    0x1.9778c6d79bcc1p-25, -0x1.af0ea334cc20ep-27, 0x1.858ba968e7d04p-44, 0x1.cf0f99fa070bcp-30, -0x1.d77155071f99bp-31,
    0x1.691879c01efb4p-12, 0x1.b1d75d3346711p-15, -0x1.5f3385098cebfp-12, 0x1.26eeb5ece1d9fp-12, -0x1.cc642787368cep-14,
    -0x1.119c70312e0a2p-23, 0x1.d179830b113abp-16, -0x1.3269164e3e304p-16, 0x1.8467d794bd7f2p-18, 0x1.0f82da50cdaeep-31,
    -0x1.1c6acec59f442p-20, 0x1.4b12ad51452d5p-21, -0x1.7929779607d63p-23, -0x1.6d32eed259534p-40,
    0x1.cf11fbdf49e99p-26, -0x1.f4e88c5d1cae1p-27, 0x1.0b2830e4dfce1p-28, -0x1.65f59322ddf56p-55,
    -0x1.5629b3187b744p-11, 0x1.b8239c670e690p-11, -0x1.cb967b4446107p-12, -0x1.762676b30cfd6p-21,
    0x1.5d1157082916dp-13, -0x1.0c16fcea7ddb2p-13, 0x1.84637d3f583cdp-15, 0x1.3937992ec9b02p-28, -0x1.6384af9ac219dp-17,
    0x1.c738f198ab550p-18, -0x1.1adec9530a7adp-19, -0x1.2ed3c124b7492p-36, 0x1.952f970ac9b03p-22,
    -0x1.d599e3b2187a2p-23, 0x1.0b282393d4893p-24, 0x1.7c54ec550bd4bp-51, -0x1.4985ee872fc56p-27, 0x1.663fd6d84752ep-28,
    -0x1.38dff1cc96982p-11, -0x1.2e31f9b7913eap-14, 0x1.63969bb825829p-11, -0x1.4f9f2582dd0a5p-11,
    0x1.22fb20c28e8a0p-12, 0x1.86c71c8cebf16p-23, -0x1.63a803aebc9b7p-14, 0x1.00120036172b0p-14, -0x1.618fcc48d37bcp-16,
    -0x1.e7018e8be3330p-31, 0x1.2fe63d892e1a9p-18, -0x1.7d8d3a891d8bap-19, 0x1.d3850f27b27e8p-21, 0x1.03901807110d2p-38,
    -0x1.49865a9b6fd04p-23, 0x1.7ca3da4d350cep-24, -0x1.b0abf9d310d85p-26, -0x1.706d644652279p-47)
REPDL_TABLE(OverGammaStar, double, 10, 0x1.0000000000000p+0, -0x1.5555555555555p-4, 0x1.c71c71c71c71cp-9,
            0x1.5f7268edab4c8p-9, -0x1.e13ce465fa859p-13, -0x1.9b0ff6874f2c4p-11, 0x1.247604839c038p-14,
            0x1.36773bdb97b48p-11, -0x1.b1d75d3346711p-15, -0x1.b8239c670e690p-11)
REPDL_TABLE(LgammaNearOne, double, 6, -0x1.2788cfc6fb619p-1, 0x1.a51a6625307d3p-1, -0x1.9a4d55beab2d7p-2,
            0x1.151322ac7d848p-2, -0x1.a8b9c17aa6149p-3, 0x1.5b40cb100c306p-3)
REPDL_TABLE(LgammaNearOneLow, double, 6, 0x1.6cb90701fbfabp-58, 0x1.1873d8912200cp-56, 0x1.4c26d1b465993p-59,
            0x1.b5f91211196e5p-57, -0x1.2e826a4fdae1ap-58, 0x1.4a79940f15696p-59)
REPDL_TABLE(LgammaNearOneLowest, double, 6, 0x1.34a95e3133c51p-112, -0x1.4c68528ddc956p-110, -0x1.aa121007a9210p-113,
            0x1.1afde2c358986p-112, 0x1.bec8fd99e4b23p-112, -0x1.38825ea888f47p-113)

/// From here on Temme's expansion is taken, where x is near to a, and Stirling's series elsewhere.
constexpr double kLargeShape = 32.0;
/// How near, as a share of a.
constexpr double kNearShare = 0.4;
/// From here on P and Q are 0 or 1 where x is not near to a.
constexpr double kSteepShape = 0x1p14;
/// For smaller x and a Q has a series of its own.
constexpr double kSmallPlace = 1.1, kSmallShape = 1.25;
/// Terms that are less than this share of a sum end it.
constexpr double kNegligibleTerm = 0x1p-54;

/// L and `factor`, 1 / gamma(1 + a) = factor e^-L, for 0 < a < 32, by numbers of the kind N: with pairs by the gamma
/// function of [1.5, 2.5], with triples by Stirling's series from 32 on.
template <class N, class D, class V>
REPDL_LANE_RARE N LogGammaOfNext(D d, V a, N& factor) {
  const V zero = Zero(d), one = Set(d, 1.0), half = Set(d, 0.5);
  const N unit = Exactly<N>(d, one);
  if constexpr (std::is_same_v<N, Pair<V>>) {
    V w = a, next_low;
    N divisor = unit;
    for (;;) {
      const auto above = Ge(w, Set(d, 1.5));
      if (!Any(d, above)) break;
      divisor = Choose(above, Times(divisor, w), divisor);
      w = IfThenElse(above, Sub(w, one), w);
    }
    const auto small = Lt(a, half);
    const V t = IfThenElse(small, w, Sub(w, one)), next = TwoSum(one, a, next_low);
    factor = Choose(small, N{next, next_low}, Over(unit, divisor));
    return Times(PolynomialPair<7, 24>(d, LgammaNearTwo(), LgammaNearTwoLow(), t, zero), t);
  } else {
    constexpr int kTerms = 22;
    V shift = one, low;
    factor = unit;
    for (;;) {
      const V sum = TwoSum(a, shift, low);
      const auto below = Lt(sum, Set(d, 32.0));
      if (!Any(d, below)) break;
      factor = Choose(below, Times(factor, N{sum, low, zero}), factor);
      shift = IfThenElse(below, Add(shift, one), shift);
    }
    const V far = TwoSum(a, shift, low);
    const N w = {far, low, zero}, inverse = Over(unit, w), square = Times(inverse, inverse);
    N sum = Constant<N>(d, Stirling()[kTerms - 1], StirlingLow()[kTerms - 1], StirlingLowest()[kTerms - 1]);
    for (int k = kTerms - 2; k >= 0; --k) {
      sum = Plus(Times(sum, square), Constant<N>(d, Stirling()[k], StirlingLow()[k], StirlingLowest()[k]));
    }
    const N half_log_two_pi = Constant<N>(d, 0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55, -0x1.b7f70c13dc1ccp-110);
    sum = Plus(Times(sum, inverse), half_log_two_pi);
    const N log = LogNumber(d, w, zero, Lt(far, far), w);
    return Plus(Plus(Times(log, Plus(w, Exactly<N>(d, Neg(half)))), Negated(w)), sum);
  }
}

/// log(gamma(1 + a)) for 0 < a < 1.25.
template <class N, class D, class V>
REPDL_LANE_RARE N LogGammaNearOne(D d, V a) {
  N factor = Exactly<N>(d, a);
  const N log = LogGammaOfNext<N>(d, a, factor);
  if constexpr (std::is_same_v<N, Pair<V>>) {
    const N of_factor = Log1pNumber(d, Exactly<N>(d, a));
    return Choose(Lt(a, Set(d, 0.5)), Plus(log, Negated(of_factor)), log);
  } else {
    // Of small a the terms of the power series are enough, and of the others no digits cancel.
    const auto small = Lt(a, Set(d, 0x1p-20));
    const V t = IfThenElseZero(small, a), high = factor.high;
    N sum = Exactly<N>(d, Zero(d));
    for (int k = 5; k >= 0; --k) {
      sum = Times(Plus(sum, Constant<N>(d, LgammaNearOne()[k], LgammaNearOneLow()[k], LgammaNearOneLowest()[k])), t);
    }
    const N of_factor = LogNumber(d, factor, Zero(d), Lt(high, high), factor);
    return Choose(small, sum, Plus(log, Negated(of_factor)));
  }
}

/// e^exponent / 2^n; exponents below -1500 are taken for that.
template <class N, class D, class V>
REPDL_LANE N FallingPower(D d, N exponent, V& n) {
  const V least = Set(d, -1500.0);
  const N result = ExpOver(d, Choose(Lt(V(exponent.high), least), Exactly<N>(d, least), exponent), n);
  n = Max(n, Set(d, -2000.0));
  return result;
}

/// x^a e^-x / gamma(1 + a) for a < 32.
struct GammaFrontFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-67;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V a, V x) {
    x = Min(x, Set(d, 0x1p13));  // from where on it is 0
    N factor = Exactly<N>(d, a);
    const N log = LogGammaOfNext<N>(d, a, factor);
    const N powers = Times(LogOfDouble<N>(d, x), a);
    return Times(FallingPower<N>(d, Plus(powers, Negated(Plus(Exactly<N>(d, x), log))), n), factor);
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V, V x) {
    return Mul(sum, Fma(Add(Abs(n), Min(x, Set(d, 0x1p13))), Set(d, 0x1p-4), Set(d, 1.0)));
  }
};

/// x^a / gamma(1 + a) - 1 for a < 1.25 and x < 1.1. It is nearly proportional to a where that is tiny.
struct GammaRestFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-65;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V a, V x) {
    const auto tiny = Lt(a, Set(d, 0x1p-700));
    a = Mul(a, IfThenElse(tiny, Set(d, 0x1p500), Set(d, 1.0)));
    N exponent = Plus(Times(LogOfDouble<N>(d, x), a), Negated(LogGammaNearOne<N>(d, a)));
    const V least = Set(d, -50.0);
    exponent = Choose(Lt(V(exponent.high), least), Exactly<N>(d, least), exponent);
    const N result = Expm1Over(d, exponent, n);
    n = Sub(n, IfThenElseZero(tiny, Set(d, 500.0)));
    return result;
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V a, V) {
    return Fma(a, PowerOfTwo(d, Sub(Set(d, 1.0), n)), Abs(sum));
  }
};

/// u - log(1 + u) for u = x / a - 1, x up to 2^200 times larger or smaller than a.
template <class N, class D, class V>
REPDL_LANE_RARE N DistanceOfRatio(D d, V a, V x) {
  constexpr bool kPairs = std::is_same_v<N, Pair<V>>;
  constexpr int kExact = kPairs ? 7 : 25, kTerms = kPairs ? 21 : 39;
  V off_low;
  const V off = TwoSum(x, Neg(a), off_low);
  const N u = Over(ExactlyTwo<N>(d, off, off_low), Exactly<N>(d, a));
  const auto near = Lt(Abs(V(u.high)), Set(d, 0x1p-4));
  const N t = Choose(near, u, Exactly<N>(d, Zero(d)));
  V p = Set(d, (kTerms % 2 == 0 ? 1.0 : -1.0) / (kTerms + 2));
  for (int k = kTerms - 1; k >= kExact; --k) p = Fma(p, V(t.high), Set(d, (k % 2 == 0 ? 1.0 : -1.0) / (k + 2)));
  N sum = Exactly<N>(d, p);
  for (int k = kExact - 1; k >= 0; --k) {
    const N c = Over(Exactly<N>(d, Set(d, k % 2 == 0 ? 1.0 : -1.0)), Exactly<N>(d, Set(d, k + 2.0)));
    sum = Plus(Times(sum, t), c);
  }
  sum = Times(Times(t, t), sum);
  if (!Any(d, Not(near))) return sum;
  N ratio = Over(Exactly<N>(d, x), Exactly<N>(d, a));
  const N log = LogNumber(d, ratio, Zero(d), Lt(a, a), ratio);
  return Choose(near, sum, Plus(u, Negated(log)));
}

/// e^(-a (u - log(1 + u))) for a >= 32 and u as above.
struct GammaFallFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-71;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V a, V x) {
    x = Limit(x, Mul(a, Set(d, 0x1p-200)), Mul(a, Set(d, 0x1p200)));
    return FallingPower<N>(d, Negated(Times(DistanceOfRatio<N>(d, a, x), a)), n);
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V a, V x) {
    const V off = Abs(Sub(x, a)), zero = Zero(d);
    const auto near = Lt(off, Mul(a, Set(d, 0x1p-5)));
    const V terms = IfThenElse(near, zero, Min(off, Set(d, 0x1p15)));
    return Mul(sum, Add(Add(Set(d, 2.0), Abs(n)), Add(terms, terms)));
  }
};

/// The root of a (u - log(1 + u)), for a >= 32 and |u| < 0.5.
struct GammaSpreadFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-66;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V a, V x) {
    const auto same = Eq(a, x);
    const N distance = Times(DistanceOfRatio<N>(d, a, x), a);
    const N root = Root(Choose(same, Exactly<N>(d, Set(d, 1.0)), distance));
    return Choose(same, Exactly<N>(d, Zero(d)), root);
  }
};

/// The sum of x^n / ((a + 1) … (a + n)), where `counts` is set.
template <class D, class V, class M>
REPDL_LANE V GammaSeries(D d, V a, V x, M counts) {
  const V one = Set(d, 1.0), negligible = Set(d, kNegligibleTerm);
  V term = one, sum = one, n = a;
  for (;;) {
    if (!Any(d, counts)) return sum;
    n = Add(n, one);
    term = Mul(term, Div(x, n));
    sum = IfThenElse(counts, Add(sum, term), sum);
    counts = And(counts, Gt(term, Mul(sum, negligible)));
  }
}

/// 1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / …)), from the front, where `counts` is set.
template <class D, class V, class M>
REPDL_LANE V GammaFraction(D d, V a, V x, M counts) {
  const V one = Set(d, 1.0), two = Set(d, 2.0), negligible = Set(d, kNegligibleTerm);
  V b = Sub(Add(x, one), a), i = one;
  V inverse = Div(one, b), step = inverse, sum = inverse;
  for (;;) {
    if (!Any(d, counts)) return sum;
    const V numerator = Mul(Sub(a, i), i);
    b = Add(b, two);
    const V product = Mul(numerator, inverse);
    inverse = Div(one, Add(product, b));
    step = Neg(Mul(step, Mul(product, inverse)));
    sum = IfThenElse(counts, Add(sum, step), sum);
    counts = And(counts, Gt(Abs(step), Mul(sum, negligible)));
    i = Add(i, one);
  }
}

/// Of Temme's expansion, the sum of d(k, n) eta^n / a^k, k < 10 and n < 18.
template <class D, class V>
REPDL_LANE_RARE V TemmeSum(D d, V eta, V inverse) {
  constexpr int kRows = 10, kColumns = 18;
  V sum = Zero(d);
  for (int k = kRows - 1; k >= 0; --k) {
    const double* row = TemmeSeries() + k * kColumns;
    V p = Set(d, row[kColumns - 1]);
    for (int n = kColumns - 2; n >= 0; --n) p = Fma(p, eta, Set(d, row[n]));
    sum = Fma(sum, inverse, p);
  }
  return sum;
}

/// Q(a, x) for x < 1.1 and a < 1.25, `rest` being x^a / gamma(1 + a) - 1.
template <class D, class V>
REPDL_LANE V UpperOfSmall(D d, V a, V x, V rest) {
  const V one = Set(d, 1.0);
  V sum = Div(one, Add(a, Set(d, 20.0)));
  for (int n = 19; n > 0; --n) {
    const V share = Mul(x, Set(d, 1.0 / (n + 1)));
    sum = Fma(Neg(share), sum, Div(one, Add(a, Set(d, static_cast<double>(n)))));
  }
  return Fma(Mul(Add(rest, one), Mul(a, x)), sum, Neg(rest));
}

/// P(a, x), or Q(a, x) with kUpper.
template <bool kUpper, class D, class V>
REPDL_LANE_RARE V IncompleteGamma(D d, V a, V x) {
  const V zero = Zero(d), one = Set(d, 1.0), two = Set(d, 2.0), infinity = Inf(d), large = Set(d, kLargeShape);
  const V tau = Set(d, 0x1.921fb54442d18p+2), given_a = a, given_x = x;
  const auto inside = And(And(Gt(a, zero), Lt(a, infinity)), And(Gt(x, zero), Lt(x, infinity)));
  a = IfThenElse(inside, a, one);
  x = IfThenElse(inside, x, two);

  const V off = Sub(x, a);
  const auto is_large = Ge(a, large), near = And(is_large, Lt(Abs(off), Mul(a, Set(d, kNearShare))));
  const auto steep = And(Ge(a, Set(d, kSteepShape)), Not(near)), below = Lt(off, zero);
  auto by_rest = And(Lt(x, Set(d, kSmallPlace)), Lt(a, Set(d, kSmallShape)));
  V lower = IfThenElseZero(Gt(off, zero), one), upper = Sub(one, lower);  // where it is steep

  if (Any(d, by_rest)) {
    const V small_a = IfThenElse(by_rest, a, one), small_x = IfThenElse(by_rest, x, Set(d, 0.5));
    const V rest = Correctly<GammaRestFormula>(d, small_a, small_x);
    const auto is_little = Lt(x, Set(d, 0.5)), by_size = Le(a, Mul(x, Set(d, kSmallPlace)));
    by_rest = And(by_rest, Or(And(is_little, Ge(rest, Set(d, -0x1.5555555555555p-2))), And(Not(is_little), by_size)));
    upper = IfThenElse(by_rest, UpperOfSmall(d, small_a, small_x, rest), upper);
    lower = IfThenElse(by_rest, Sub(one, upper), lower);
  }

  if (Any(d, near)) {
    const V near_a = IfThenElse(near, a, large), near_x = IfThenElse(near, x, large);
    const V spread = Correctly<GammaSpreadFormula>(d, near_a, near_x);
    const V fall = Correctly<GammaFallFormula>(d, near_a, near_x);
    const V scaled_tail = Mul(ErfcxDouble()(d, spread), Set(d, 0.5));
    const V eta = Mul(spread, Sqrt(Div(two, near_a)));
    const V sum = TemmeSum(d, IfThenElse(below, Neg(eta), eta), Div(one, near_a));
    const V more = Div(sum, Sqrt(Mul(near_a, tau)));
    const V tail = Mul(fall, IfThenElse(below, Sub(scaled_tail, more), Add(scaled_tail, more)));
    const V other = Sub(one, tail);
    lower = IfThenElse(near, IfThenElse(below, tail, other), lower);
    upper = IfThenElse(near, IfThenElse(below, other, tail), upper);
  }

  const auto by_front = Not(Or(Or(near, steep), by_rest));
  if (Any(d, by_front)) {
    const auto falls = And(by_front, is_large), leads = And(by_front, Lt(a, large));
    V front = zero;
    if (Any(d, leads)) front = Correctly<GammaFrontFormula>(d, IfThenElse(leads, a, one), IfThenElse(leads, x, one));
    if (Any(d, falls)) {
      const V fall_a = IfThenElse(falls, a, large), fall_x = IfThenElse(falls, x, large);
      const V fall = Correctly<GammaFallFormula>(d, fall_a, fall_x), inverse = Div(one, fall_a);
      V p = Set(d, OverGammaStar()[9]);
      for (int k = 8; k >= 0; --k) p = Fma(p, inverse, Set(d, OverGammaStar()[k]));
      front = IfThenElse(falls, Div(Mul(fall, p), Sqrt(Mul(fall_a, tau))), front);
    }
    const auto by_series = And(by_front, Or(below, Lt(x, Set(d, kSmallPlace)))),
               by_fraction = And(by_front, Not(by_series));
    const V series = GammaSeries(d, IfThenElse(by_series, a, two), IfThenElse(by_series, x, one), by_series);
    const V fraction = GammaFraction(d, IfThenElse(by_fraction, a, one), IfThenElse(by_fraction, x, two), by_fraction);
    const V share = Mul(front, series), rest = Mul(Mul(front, a), fraction);
    lower = IfThenElse(by_series, share, IfThenElse(by_fraction, Sub(one, rest), lower));
    upper = IfThenElse(by_series, Sub(one, share), IfThenElse(by_fraction, rest, upper));
  }

  V result = lower;
  if constexpr (kUpper) result = upper;
  if (!Any(d, Not(inside))) return result;
  const auto ends = Or(Eq(given_x, zero), Eq(given_a, infinity));
  V other = IfThenZeroElse(ends, one);
  if constexpr (kUpper) other = IfThenElseZero(ends, one);
  const auto defined = And(Ge(given_a, zero), Ge(given_x, zero));
  const auto both = Or(And(Eq(given_a, zero), Eq(given_x, zero)), And(Eq(given_a, infinity), Eq(given_x, infinity)));
  other = IfThenElse(And(defined, Not(both)), other, Sub(infinity, infinity));
  return IfThenElse(inside, result, other);
}
