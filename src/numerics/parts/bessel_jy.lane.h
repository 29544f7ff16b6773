// SPDX-License-Identifier: MIT
// The quick step of the Bessel functions of the first and second kind, of orders 0 and 1, for doubles: sums of two
// doubles. Constants from tools/coefficients/bessel.py.

// m and x p as polynomials in 1 / x^2 - 5/512, for x from 8 to 16, and in 1 / x^2 - 1/512.
REPDL_TABLE(Modulus0, double, 36, 0x1.ffb13bd0f5b91p-1, -0x1.f08fdb33f9d84p-5, 0x1.7199b7b08a22bp-4,
            -0x1.8753ce8aed8c6p-2, 0x1.77a01c7db7aa0p+1, -0x1.0ba5cb9c21cf9p+5, 0x1.fa6510949c7bcp+8,
            -0x1.2888fa9d146efp+13, 0x1.9a46ea894f340p+17, -0x1.4472b09370e08p+22, 0x1.1e5622cc8f75cp+27,
            -0x1.150086950b9ddp+32, 0x1.22551a8f8d9cfp+37, -0x1.44ec7893d9452p+42, 0x1.6f7782344487bp+47,
            -0x1.c6a37e54bd39bp+52, 0x1.af1b3e147061dp+58, -0x1.2c14fd7d09506p+64, 0x1.fff00d1df6d0ap-1,
            -0x1.fcbcad989cd79p-5, 0x1.9b7d621dfc436p-4, -0x1.006e1976aefe8p-1, 0x1.3cc329c555ccdp+2,
            -0x1.3dd1d164ad127p+6, 0x1.cd5262b7aa940p+10, -0x1.c0b7189ad0a1ap+15, 0x1.150f2c9574b9fp+21,
            -0x1.a14d57f9763fdp+26, 0x1.73b78f8759bd5p+32, -0x1.7e5565497e26dp+38, 0x1.bdc638a88a53ep+44,
            -0x1.21b553153ce6dp+51, 0x1.93f34420a5dcbp+57, -0x1.3807f814aee14p+64, 0x1.5ee3e4f108649p+71,
            -0x1.46d9253023550p+78)
REPDL_TABLE(Modulus0Low, double, 8, -0x1.9a6c8f6d44772p-55, -0x1.3e8f0f994fe11p-61, -0x1.dda2221de6742p-60,
            -0x1.7044742ee41fcp-57, 0x1.826a007604edep-55, -0x1.4c8bc9d77366ap-59, -0x1.6d186c026c728p-62,
            0x1.033d8977a6729p-55)
REPDL_TABLE(Phase0, double, 36, -0x1.fd78e04dd0472p-4, 0x1.f7125d55f7ebep-5, -0x1.5f605240d5ad9p-3,
            0x1.09fdd1b6e2ca8p+0, -0x1.44c9ed091ec01p+3, 0x1.1418414afa8e7p+7, -0x1.2b72b0465b512p+11,
            0x1.878149471a9b4p+15, -0x1.28b5c2dc9e6e6p+20, 0x1.fb0778dcb7b76p+24, -0x1.de62725442da4p+29,
            0x1.eab489344e206p+34, -0x1.0f0c5f0c4ae16p+40, 0x1.3ddc20f2df834p+45, -0x1.73e2facd53088p+50,
            0x1.ddbe13984a4b9p+55, -0x1.e37172cac4fa4p+61, 0x1.5ba1b047d7767p+67, -0x1.ff7b7e1411878p-4,
            0x1.07633a5317c48p-4, -0x1.9a91a8c2fd842p-3, 0x1.7908f97963c1ap+0, -0x1.3177847581388p+4,
            0x1.7896102146ddbp+8, -0x1.4209b5697f849p+13, 0x1.667f1bff0f7a3p+18, -0x1.effe8c44abe5ap+23,
            0x1.9bc488d4a6588p+29, -0x1.8f3efdc843c76p+35, 0x1.ba7ca330fe826p+41, -0x1.13bf66a24e471p+48,
            0x1.7c7b260a91d95p+54, -0x1.16615b01a877bp+61, 0x1.c31ad5e401568p+67, -0x1.110eb330a1ea0p+75,
            0x1.095f7d544df4bp+82)
REPDL_TABLE(Phase0Low, double, 8, 0x1.01df1661d8b12p-58, -0x1.38a2069f09f35p-64, 0x1.3a00209ac642ap-58,
            0x1.3bd45f81ac8dfp-54, 0x1.91fa25a615bccp-58, 0x1.93554a0d455afp-58, -0x1.44266839bf9dfp-60,
            -0x1.eb318e4d1677cp-56)
REPDL_TABLE(Modulus1, double, 36, 0x1.0076d62fa9dd6p+0, 0x1.78b0229838c32p-3, -0x1.62e3ccf8b0f4fp-3,
            0x1.2d3a270ea6f50p-1, -0x1.03041261acbe6p+2, 0x1.5b45a46bd625ep+5, -0x1.3c4a459b04891p+9,
            0x1.68fe51565c33dp+13, -0x1.ea32b1415cc7ep+17, 0x1.7e29e989883b0p+22, -0x1.4d7f51a7a404ep+27,
            0x1.3fafde6c3c25dp+32, -0x1.4c829c3aeb937p+37, 0x1.71bb82b67ca77p+42, -0x1.a032bf07f90cap+47,
            0x1.003dd4f625b86p+53, -0x1.e25ad443542f9p+58, 0x1.4e83abe628afbp+64, 0x1.0017f3b94d1bap+0,
            0x1.7e78b7330e27cp-3, -0x1.82ae2fbcc3a1fp-3, 0x1.7fb4b3ee5b846p-1, -0x1.a777f7e672bd0p+2,
            0x1.8f440208b0edbp+6, -0x1.16cf4e530a653p+11, 0x1.0832b43eeb59dp+16, -0x1.402a05eb33a56p+21,
            0x1.db66c0b674d0fp+26, -0x1.a2c58d51f5f54p+32, 0x1.aae27e0aefa42p+38, -0x1.ee0cd8aa64f85p+44,
            0x1.3f1aacd94957ap+51, -0x1.bacc9bb15249cp+57, 0x1.5486f11c50920p+64, -0x1.7c98e60b4df5bp+71,
            0x1.614b0f8502559p+78)
REPDL_TABLE(Modulus1Low, double, 8, 0x1.bdddaae4eb0abp-56, 0x1.c09e540edc96ep-62, 0x1.6ee84fa9907bep-57,
            0x1.d050906a55c69p-55, 0x1.001287684a165p-54, 0x1.db95ccbb5e8b7p-58, -0x1.82391ddb711c2p-62,
            -0x1.7f385a5b6554dp-55)
REPDL_TABLE(Phase1, double, 36, 0x1.7e64c14e15af0p-2, -0x1.425d47572a7bcp-3, 0x1.4245944eb9fe3p-2,
            -0x1.9205598201b16p+0, 0x1.bbe664730f5fbp+3, -0x1.646c2437b737bp+7, 0x1.74e8d372f2d0ep+11,
            -0x1.dba92fdc5ea90p+15, 0x1.620b7755cf2ccp+20, -0x1.2a5a67485bb25p+25, 0x1.166e31139bfa6p+30,
            -0x1.1b0f45b250d87p+35, 0x1.365b0f6c9db99p+40, -0x1.69a77304dcf3ep+45, 0x1.a541d5cb2a8a0p+50,
            -0x1.0d509b67a83bfp+56, 0x1.0e72e3809ee1ap+62, -0x1.83872bbc889dep+67, 0x1.7fac5dcb45120p-2,
            -0x1.4d16294bbab6dp-3, 0x1.6e415b37834ffp-2, -0x1.1386b8f7735d6p+1, 0x1.9323a991e2f3ep+4,
            -0x1.d54f970b4c2e5p+8, 0x1.83281682e591dp+13, -0x1.a4872b8f1f380p+18, 0x1.1dc2c04657590p+24,
            -0x1.d4127d78d8d36p+29, 0x1.c104d023fb158p+35, -0x1.ed60a72bb2a1ep+41, 0x1.3146069446a64p+48,
            -0x1.a2b55fd1356a8p+54, 0x1.30f370b867c48p+61, -0x1.ec0aa5d8e4581p+67, 0x1.27fd4e3b03bebp+75,
            -0x1.1eb0774dc1d9ep+82)
REPDL_TABLE(Phase1Low, double, 8, 0x1.512c80850c915p-58, -0x1.1f8ca0dcb8f9cp-57, -0x1.e8a13e60212c6p-56,
            -0x1.97b30303e6087p-57, 0x1.b36f36821eb4dp-57, -0x1.825d6cf132c14p-58, 0x1.408c0a397d548p-58,
            -0x1.25c4b6bf271b9p-53)

/// From here on the functions are waves of a polynomial modulus and phase.
constexpr double kFarWave = 8.0;

/// J(x) of 0 < x <= 8 in doubles, off by less than `error`: a term of the series with z^k, |z| <= 16, has an error of at
/// most (2 k + 2) 2^-53 of it, and together they come to 2^-41.
template <int kOrder, class D, class V>
REPDL_LANE V QuickNearWave(D d, V x, V& error) {
  const V half = Mul(x, Set(d, 0.5));
  const V sum = SeriesOf<24>(d, kOrder == 0 ? I0Powers() : I1Powers(), Neg(Mul(half, half)));
  error = Set(d, 0x1p-40);
  if constexpr (kOrder == 0) return sum;
  error = Mul(error, half);
  return Mul(sum, half);
}

/// J(x), or with kSecond Y(x), of 0 < x <= 8, off by less than `error`: by the power series, whose terms are at most
/// 2^7 times an ordinary result.
template <int kOrder, bool kSecond, class D, class V>
REPDL_LANE_RARE Pair<V> NearWave(D d, V x, V& error) {
  const V half = Mul(x, Set(d, 0.5));
  V square_low;
  const V square = TwoProd(half, half, square_low);
  const Pair<V> z = {Neg(square), Neg(square_low)};
  const Pair<V> first =
      SeriesPair<16, 28>(d, kOrder == 0 ? I0Powers() : I1Powers(), kOrder == 0 ? I0PowersLow() : I1PowersLow(), z);
  if constexpr (!kSecond) {
    error = Set(d, 0x1p-73);
    if constexpr (kOrder == 0) return first;
    error = Mul(error, half);
    return Times(first, half);
  }
  const Pair<V> beside = SeriesPair<16, 28>(d, kOrder == 0 ? BesideLogarithm0() : BesideLogarithm1(),
                                            kOrder == 0 ? BesideLogarithm0Low() : BesideLogarithm1Low(), z);
  const Pair<V> log = BesselLogarithm(d, x),
                two_over_pi = {Set(d, 0x1.45f306dc9c883p-1), Set(d, -0x1.6b01ec5417056p-55)};
  Pair<V> sum = Plus(Times(log, first), Negated(beside));
  error = Mul(Add(Abs(V(log.high)), Set(d, 1.0)), Set(d, 0x1p-69));
  if constexpr (kOrder == 1) {
    const Pair<V> inverse = InversePair(d, x);
    sum = Plus(Times(sum, half), Negated(inverse));
    error = Fma(error, half, Mul(V(inverse.high), Set(d, 0x1p-95)));
  }
  return Times(sum, two_over_pi);
}

/// `size` times the cosine, or with kSecond the sine, of quadrant pi / 2 + angle, off by less than `error`.
template <bool kSecond, class D, class V, class VI>
REPDL_LANE Pair<V> WaveOfQuadrant(D d, VI quadrant, Pair<V> angle, Pair<V> size, V& error) {
  const IntTag<D> di;
  V sine, sine_low, cosine, cosine_low;
  SineAndCosinePairs(d, V(angle.high), V(angle.low), sine, sine_low, cosine, cosine_low);
  const auto one = Set(di, 1);
  const auto odd = MaskTo(d, Eq(And(quadrant, one), one));
  const Pair<V> sines = PairOf(sine, sine_low), cosines = PairOf(cosine, cosine_low);
  const Pair<V> wave = kSecond ? Choose(odd, cosines, sines) : Choose(odd, sines, cosines);
  const auto turned = kSecond ? quadrant : Add(quadrant, one);  // the cosine is cos, -sin, -cos, sin
  const Pair<V> result = Times(size, wave);
  error = Fma(Abs(V(result.high)), Set(d, 0x1p-64), Mul(V(size.high), Set(d, 0x1p-69)));
  const auto negative = MaskTo(d, Eq(And(turned, Set(di, 2)), Set(di, 2)));
  return Choose(negative, Negated(result), result);
}

/// The same for x from 8 to 2^26: sqrt(2 / (pi x)) m cos(x - (2 order + 1) pi / 4 + p), or the sine for Y, m and x p
/// being polynomials in 1 / x^2.
template <int kOrder, bool kSecond, class D, class V>
REPDL_LANE_RARE Pair<V> FarWave(D d, V x, V& error) {
  const IntTag<D> di;
  const V to_integer = Set(d, 0x1.8p52);
  const Pair<V> inverse = InversePair(d, x), square = Times(inverse, inverse);
  const auto farther = Le(V(square.high), Set(d, 0x1p-8));
  const Pair<V> t = Shifted(square, IfThenElse(farther, Set(d, -0x1p-9), Set(d, -0x1.4p-7)));
  const Pair<V> modulus = FarSeries<4, 18>(d, kOrder == 0 ? Modulus0() : Modulus1(),
                                           kOrder == 0 ? Modulus0Low() : Modulus1Low(), farther, t);
  const Pair<V> phase =
      FarSeries<4, 18>(d, kOrder == 0 ? Phase0() : Phase1(), kOrder == 0 ? Phase0Low() : Phase1Low(), farther, t);
  // x = (quadrant + order + 1/2) pi / 2 + r
  constexpr double kStart = kOrder + 0.5;
  const V shifted = Add(Fma(x, Set(d, 0x1.45f306dc9c883p-1), Set(d, -kStart)), to_integer);
  V r_low;
  const V r = RemainderPair<false>(d, x, Add(Sub(shifted, to_integer), Set(d, kStart)), 2.0, r_low);
  const Pair<V> angle = Plus(PairOf(r, r_low), Times(phase, inverse));
  const Pair<V> half_pi = {Set(d, 0x1.921fb54442d18p+0), Set(d, 0x1.1a62633145c07p-54)};
  return WaveOfQuadrant<kSecond>(d, BitCast(di, shifted), angle, Over(modulus, Root(Times(half_pi, x))), error);
}

template <int kOrder, bool kSecond, class D, class V>
REPDL_LANE Pair<V> WavePair(D d, V x, V& error) {
  const V limit = Set(d, kFarWave);
  const auto near = Lt(x, limit);
  const V zero = Zero(d);
  Pair<V> result = {zero, zero};
  if (Any(d, near)) {
    result = NearWave<kOrder, kSecond>(d, Min(x, limit), error);
    if (!Any(d, Not(near))) return result;
  }
  V far_error;
  const Pair<V> far = FarWave<kOrder, kSecond>(d, Max(x, limit), far_error);
  error = IfThenElse(near, error, far_error);
  return Choose(near, result, far);
}

/// J(x) or Y(x) of doubles: by the accurate step beyond 2^26, and of 0 and tiny numbers.
template <int kOrder, bool kSecond, class D, class V, class F>
REPDL_LANE V BesselOf(D d, V x, F accurate_step) {
  const V a = kSecond ? x : Abs(x), y = Limit(a, Set(d, 0x1p-400), Set(d, kLargeAngle));
  V error = Zero(d);
  const Pair<V> result = WavePair<kOrder, kSecond>(d, y, error);
  constexpr bool kOdd = !kSecond && kOrder == 1;
  const V high = AtSignOf<kOdd>(d, x, V(result.high)), low = AtSignOf<kOdd>(d, x, V(result.low));
  return RoundOr(d, Eq(a, y), high, low, error, accurate_step, x);
}

/// The same, to be rounded to a float.
template <int kOrder, bool kSecond, class D, class V, class F>
REPDL_LANE V BesselWide(D d, V x, F accurate_step) {
  const V a = kSecond ? x : Abs(x), y = Limit(a, Set(d, 0x1p-200), Set(d, kLargeAngle));
  constexpr bool kOdd = !kSecond && kOrder == 1;
  V error = Zero(d);
  if constexpr (!kSecond) {
    const V limit = Set(d, kFarWave), quick = QuickNearWave<kOrder>(d, Min(y, limit), error);
    const auto decided = And(And(Eq(a, y), Lt(a, limit)), RoundsAlike(d, quick, error));
    if (!Any(d, Not(decided))) return AtSignOf<kOdd>(d, x, quick);
  }
  const Pair<V> result = WavePair<kOrder, kSecond>(d, y, error);
  const V rounded = AtSignOf<kOdd>(d, x, RoundToOdd(V(result.high), V(result.low)));
  const auto other = Not(Eq(a, y));
  if (Any(d, other)) return IfThenEach(d, other, accurate_step, rounded, x);
  return rounded;
}
