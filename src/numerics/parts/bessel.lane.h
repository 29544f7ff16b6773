// SPDX-License-Identifier: MIT
// The quick step of the modified Bessel functions of the first kind, of orders 0 and 1, for doubles: sums of two
// doubles; and what all Bessel functions share. Constants from tools/coefficients/bessel.py.

// 1 / (k! (k + order)!), and what the doubles leave of the first.
REPDL_TABLE(I0Powers, double, 28, 0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000000p-2,
            0x1.c71c71c71c71cp-6, 0x1.c71c71c71c71cp-10, 0x1.23456789abcdfp-14, 0x1.02e85c0898b71p-19,
            0x1.522a43f65486ap-25, 0x1.522a43f65486ap-31, 0x1.0b313289be0b9p-37, 0x1.5601885e63e5dp-44,
            0x1.69ca9cf3b7f54p-51, 0x1.4197a7f5154bcp-58, 0x1.e725594ee52e9p-66, 0x1.3e22d70ef3b5fp-73,
            0x1.69f7da8510bcdp-81, 0x1.69f7da8510bcdp-89, 0x1.40a2dc2460523p-97, 0x1.faaf2fa1c79e5p-106,
            0x1.674f8e46c208cp-114, 0x1.cbeaf38dc529fp-123, 0x1.0afb53e9cec0bp-131, 0x1.1a6d4e307528fp-140,
            0x1.1159d2b18fe1fp-149, 0x1.e5f504c9e358cp-159, 0x1.8e189760fbc74p-168, 0x1.2d843c1f0a6f9p-177,
            0x1.a787875e855a5p-187)
REPDL_TABLE(I0PowersLow, double, 16, 0.0, 0.0, 0.0, 0x1.c71c71c71c71cp-60, 0x1.c71c71c71c71cp-64, 0x1.23456789abcdfp-74,
            -0x1.b6edec0692e65p-75, -0x1.604db055bd075p-79, -0x1.604db055bd075p-85, -0x1.8824198c6f6e1p-91,
            -0x1.9b0b430eb27b8p-101, -0x1.ee6b4638f3a25p-105, 0x1.f414a456b5139p-117, 0x1.347419f4f4e12p-120,
            -0x1.c01f1502b9c8dp-129, -0x1.4c44016cdd3c9p-135)
REPDL_TABLE(I1Powers, double, 28, 0x1.0000000000000p+0, 0x1.0000000000000p-1, 0x1.5555555555555p-4,
            0x1.c71c71c71c71cp-8, 0x1.6c16c16c16c17p-12, 0x1.845c8a0ce5129p-17, 0x1.27e4fb7789f5cp-22,
            0x1.522a43f65486ap-28, 0x1.2c9758daf5cd0p-34, 0x1.ab81ea75fcdf4p-41, 0x1.f17697cf1cf13p-48,
            0x1.e2637bef9ff1ap-55, 0x1.8bce58901a35ep-62, 0x1.165e7c2d153f3p-69, 0x1.53585cdcbfb10p-77,
            0x1.69f7da8510bcdp-85, 0x1.54ad09e6a6575p-93, 0x1.1d028acb00491p-101, 0x1.aaae78f4066a6p-110,
            0x1.1f72d8389b3a3p-118, 0x1.5e69de22df5cep-127, 0x1.84564b82a1184p-136, 0x1.88f11edf3ed4cp-145,
            0x1.6c77c3976a829p-154, 0x1.37033643c4b3bp-163, 0x1.e9f6e1b270f54p-173, 0x1.655a5a37c0843p-182,
            0x1.e4089ab52ab05p-192)
REPDL_TABLE(I1PowersLow, double, 16, 0.0, 0.0, 0x1.5555555555555p-58, 0x1.c71c71c71c71cp-62, -0x1.f49f49f49f49fp-67,
            0x1.5b66c77d88e9ap-71, 0x1.cbbc05b4fa99ap-76, -0x1.604db055bd075p-82, -0x1.39289cbdfd5bdp-88,
            0x1.7f8c7b0b68397p-96, -0x1.4fa7011c9dfe6p-103, 0x1.770f7b4107cebp-113, -0x1.c561aae8f9091p-116,
            0x1.df93367675c11p-127, -0x1.ddff05583da30p-133, -0x1.4c44016cdd3c9p-139)

// sqrt(2 pi x) exp(-x) I(x) as polynomials in 1 / x - 3/32, for x from 8 to 16, and in 1 / x - 1/32, for larger x.
REPDL_TABLE(I0Far, double, 42, 0x1.032d2ada23a5bp+0, 0x1.1ff8b88693e51p-3, 0x1.991938bb01b37p-4, 0x1.3f822601a1438p-3,
            0x1.d773e67e3f423p-2, 0x1.1ca3cc919b264p+1, 0x1.2e413df8cdd42p+3, -0x1.7f276b44c63f1p+5,
            -0x1.3fc70a967ff70p+10, -0x1.de7f6aea9618ep+11, 0x1.9335665a67050p+16, 0x1.df53b259e7e5ap+18,
            -0x1.3440229c51acbp+23, -0x1.823b9fb1973d2p+24, 0x1.00f4318f65b6fp+30, -0x1.2c05137f7f0bep+31,
            -0x1.5dd95b7b067a7p+36, 0x1.76d6d57a0e7e0p+39, 0x1.d504704ba4c49p+41, -0x1.23476c79aaf26p+46,
            0x1.01d96f8d81eccp+47, 0x1.0104a76afa5e1p+0, 0x1.09784e52965fap-3, 0x1.3f23a83a7482bp-4,
            0x1.70399a602830ap-4, 0x1.4464aa400e7cbp-3, 0x1.89956b81c23c2p-2, 0x1.36732f96f104fp+0,
            0x1.334397b0506a4p+2, 0x1.74e364469cfe3p+4, 0x1.114897bf666a3p+7, 0x1.dfe2a7bdda500p+9,
            0x1.fe2eb7ddee278p+12, 0x1.40a1563c657c2p+16, 0x1.71af6eb315c2dp+19, 0x1.85c55824c1b33p+23,
            0x1.2c8f0ad3ba4e0p+29, 0x1.3af03f7b4c421p+33, -0x1.74be12df2a554p+37, -0x1.6e165dbb12839p+42,
            0x1.266b80dfe3294p+43, 0x1.a3ba8dadbb5d6p+49)
REPDL_TABLE(I0FarLow, double, 8, -0x1.b05f02273edecp-54, -0x1.f2ea5bddb086dp-58, -0x1.05f117261eba6p-58,
            0x1.dfb147496a7aep-60, 0x1.652a037edd060p-54, 0x1.6d38a7e8c7a96p-58, -0x1.11607f12c6923p-58,
            -0x1.05a555f9d39f3p-58)
REPDL_TABLE(I1Far, double, 42, 0x1.ed6c1dc80840ap-1, -0x1.99e95b70950f9p-2, -0x1.422078e45a59dp-3,
            -0x1.a3b6d645ffd84p-3, -0x1.19b8e6ce42c9dp-1, -0x1.44806585ed9a3p+1, -0x1.5d09bc5107321p+3,
            0x1.6e07face923f8p+5, 0x1.546132e169430p+10, 0x1.2037157624b26p+12, -0x1.9f019b10c1b64p+16,
            -0x1.12f3f3a8aaf8fp+19, 0x1.3b859d680b65fp+23, 0x1.de72b2debd441p+24, -0x1.0a158ef38b8abp+30,
            0x1.f7bb866a38693p+30, 0x1.72b9b631a1e41p+36, -0x1.72d03197df64fp+39, -0x1.0bcb582c92d32p+42,
            0x1.287ce847d419cp+46, -0x1.94133a61a5f92p+46, 0x1.f9f09215b7bfdp-1, -0x1.87d3bf30eabaap-2,
            -0x1.059d38cca78e3p-3, -0x1.faf406e2040a3p-4, -0x1.9a02d6ae17d30p-3, -0x1.d8b8cde46635ep-2,
            -0x1.68661b4f6ee40p+0, -0x1.5c1972efc366dp+2, -0x1.9eb8e103889a4p+4, -0x1.2b9024be6fec6p+7,
            -0x1.03ea3598be1f1p+10, -0x1.11761d3e29994p+13, -0x1.55088b740e068p+16, -0x1.88713a6619fadp+19,
            -0x1.95b46ffb22de2p+23, -0x1.372a9f42ce769p+29, -0x1.4a1126449dc3ep+33, 0x1.7a73de31ae5f7p+37,
            0x1.7a84e1914f221p+42, -0x1.15156c70092bep+43, -0x1.ae3788fc62495p+49)
REPDL_TABLE(I1FarLow, double, 8, -0x1.8deaba872faabp-55, 0x1.35f1bc2209224p-57, 0x1.460445c6be28ap-59,
            -0x1.75578fe6f657dp-57, 0x1.209e93613bfa2p-55, -0x1.91c4df479e5bbp-56, -0x1.ea97ebac33480p-57,
            0x1.606f4f8cc8bddp-58)

/// The sum of c[k] t^k for k < kTerms, whose terms may be larger than the ones before; the first kPairs coefficients
/// have a low part.
template <int kPairs, int kTerms, class D, class V>
REPDL_LANE Pair<V> SeriesPair(D d, const double* c, const double* c_low, Pair<V> t) {
  V p = Set(d, c[kTerms - 1]);
  for (int k = kTerms - 2; k >= kPairs; --k) p = Fma(p, V(t.high), Set(d, c[k]));
  Pair<V> sum = {p, Zero(d)};
  for (int k = kPairs - 1; k >= 0; --k) sum = Plus(Times(sum, t), Pair<V>{Set(d, c[k]), Set(d, c_low[k])});
  return sum;
}

/// The sum of c[k] t^k for k < kTerms in doubles.
template <int kTerms, class D, class V>
REPDL_LANE V SeriesOf(D d, const double* c, V t) {
  V sum = Set(d, c[kTerms - 1]);
  for (int k = kTerms - 2; k >= 0; --k) sum = Fma(sum, t, Set(d, c[k]));
  return sum;
}

/// The sum of c[k] t^k for k < kTerms, or of c[kTerms + k] t^k where `second` is set; the first kPairs coefficients have a
/// low part.
template <int kPairs, int kTerms, class D, class V, class M>
REPDL_LANE Pair<V> FarSeries(D d, const double* c, const double* c_low, M second, Pair<V> t) {
  const V th = t.high;
  V p = IfThenElse(second, Set(d, c[kTerms + kTerms - 1]), Set(d, c[kTerms - 1]));
  for (int k = kTerms - 2; k >= kPairs; --k) {
    p = Fma(p, th, IfThenElse(second, Set(d, c[kTerms + k]), Set(d, c[k])));
  }
  Pair<V> sum = {p, Zero(d)};
  for (int k = kPairs - 1; k >= 0; --k) {
    const Pair<V> coefficient = {IfThenElse(second, Set(d, c[kTerms + k]), Set(d, c[k])),
                                 IfThenElse(second, Set(d, c_low[kPairs + k]), Set(d, c_low[k]))};
    sum = Plus(coefficient, Times(sum, t));
  }
  return sum;
}

/// What a function of x is where it is `value` at |x|: if it is odd, with the sign of x.
template <bool kOdd, class D, class V>
REPDL_LANE V AtSignOf(D d, V x, V value) {
  return kOdd ? IfThenElse(Lt(x, Zero(d)), Neg(value), value) : value;
}

/// a + b, of which a may be far below b.
template <class V>
REPDL_LANE Pair<V> Shifted(Pair<V> a, V b) {
  V error;
  const V sum = TwoSum(V(a.high), b, error);
  return PairOf(sum, Add(error, V(a.low)));
}

/// I(x) of x >= 0, or with kScaled exp(-x) I(x), is the result times 2^n, off by less than 2^-66 of it. Below 8 by the
/// power series, whose terms are all positive; then by polynomials in 1 / x for sqrt(2 pi x) exp(-x) I(x).
template <int kOrder, bool kScaled, class D, class V>
REPDL_LANE Pair<V> ModifiedBesselPair(D d, V x, V& n) {
  const V zero = Zero(d);
  const auto near = Lt(x, Set(d, 8.0));
  const V small = Min(x, Set(d, 8.0)), large = Max(x, Set(d, 8.0)), half = Mul(small, Set(d, 0.5));
  V square_low;
  const V square = TwoProd(half, half, square_low);
  Pair<V> low = SeriesPair<16, 28>(d, kOrder == 0 ? I0Powers() : I1Powers(),
                                   kOrder == 0 ? I0PowersLow() : I1PowersLow(), Pair<V>{square, square_low});
  if constexpr (kOrder == 1) low = Times(low, half);
  if constexpr (!kScaled) {
    n = zero;
    if (!Any(d, Not(near))) return low;
  }
  // of exp(x), or exp(-x) where the series does not have it
  const V exponent = kScaled ? Neg(small) : IfThenElseZero(Not(near), x);
  Pair<V> e = ExpOver(d, Pair<V>{exponent, zero}, n);
  if constexpr (kScaled) {
    low = Times(low, Scaled(e, PowerOfTwo(d, n)));
    n = zero;
    if (!Any(d, Not(near))) return low;
  }

  const Pair<V> inverse = InversePair(d, large);
  const auto farther = Ge(large, Set(d, 16.0));
  const V u = inverse.high;
  V t_error;
  const V t_sum = TwoSum(u, IfThenElse(farther, Set(d, -0.03125), Set(d, -0.09375)), t_error);
  const Pair<V> t = PairOf(t_sum, Add(t_error, V(inverse.low)));
  const Pair<V> sum = kOrder == 0 ? FarSeries<4, 21>(d, I0Far(), I0FarLow(), farther, t)
                                  : FarSeries<4, 21>(d, I1Far(), I1FarLow(), farther, t);
  const Pair<V> two_pi = {Set(d, 0x1.921fb54442d18p+2), Set(d, 0x1.1a62633145c07p-52)};
  Pair<V> high = Over(sum, Root(Times(two_pi, large)));
  if constexpr (!kScaled) high = Times(high, e);
  return Choose(near, low, high);
}

/// I(x) of doubles: by the accurate step beyond 700, where it overflows soon.
template <int kOrder, bool kScaled, class D, class V, class F>
REPDL_LANE V ModifiedBesselOf(D d, V x, F accurate_step) {
  const V a = Abs(x);
  const V limit = Set(d, kScaled ? 0x1p500 : 700.0), least = Set(d, 0x1p-400);
  const V y = Limit(a, least, limit);
  V n = Zero(d);
  const Pair<V> unscaled = ModifiedBesselPair<kOrder, kScaled>(d, y, n), result = Scaled(unscaled, PowerOfTwo(d, n));
  const V high = result.high;
  const auto usual = And(Le(a, limit), Or(Eq(y, a), kOrder == 0 ? Lt(a, least) : Lt(a, a)));
  const V rounded = RoundOr(d, usual, high, V(result.low), Mul(high, Set(d, 0x1p-66)), accurate_step, a);
  return AtSignOf < kOrder == 1 > (d, x, rounded);
}

/// I(x) of 0 <= x <= 8 in doubles, with a relative error below 2^-47: a term with t^k has one of at most (2 k + 2) 2^-53,
/// which is 14 2^-53 on the average, and exp(-x) one of 2^-50.
template <int kOrder, bool kScaled, class D, class V>
REPDL_LANE V NearModifiedBessel(D d, V x) {
  const V half = Mul(x, Set(d, 0.5));
  V sum = SeriesOf<24>(d, kOrder == 0 ? I0Powers() : I1Powers(), Mul(half, half));
  if constexpr (kOrder == 1) sum = Mul(sum, half);
  if constexpr (kScaled) sum = Mul(sum, QuickExpOf(d, Neg(x)));
  return sum;
}

/// I(x), or with kScaled exp(-|x|) I(x), to be rounded to a float.
template <int kOrder, bool kScaled, class D, class V>
REPDL_LANE V ModifiedBesselWide(D d, V x) {
  const V a = Abs(x), infinity = Inf(d), zero = Zero(d);
  const V y = Limit(a, Set(d, 0x1p-200), Set(d, kScaled ? 0x1p500 : 120.0));
  const V limit = Set(d, 8.0), quick = NearModifiedBessel<kOrder, kScaled>(d, Min(y, limit));
  const auto decided = And(And(Eq(a, y), Lt(a, limit)), RoundsAlike(d, quick, Mul(quick, Set(d, 0x1p-47))));
  if (!Any(d, Not(decided))) return AtSignOf < kOrder == 1 > (d, x, quick);
  V n = zero;
  const Pair<V> unscaled = ModifiedBesselPair<kOrder, kScaled>(d, y, n), result = Scaled(unscaled, PowerOfTwo(d, n));
  V rounded = RoundToOdd(V(result.high), V(result.low));
  if constexpr (kScaled) rounded = IfThenElse(Eq(a, infinity), zero, rounded);
  if constexpr (kOrder == 1) rounded = IfThenElse(Eq(a, zero), zero, rounded);
  rounded = IfThenElse(IsNaN(x), x, rounded);
  return AtSignOf < kOrder == 1 > (d, x, rounded);
}
