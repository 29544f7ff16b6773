// SPDX-License-Identifier: MIT
// The quick step of the Airy function for doubles: sums of two doubles. zeta is 2/3 |x|^(3/2). Constants from
// tools/coefficients/airy.py.

// What multiplies x^(3 k) in the series that begin with Ai(0) and x Ai'(0), the latter without x; and what the doubles
// leave of the first.
REPDL_TABLE(AiryValue, double, 28, 0x1.6b8c7962715b8p-2, 0x1.e4bb4c8341cf6p-5, 0x1.028606ac675d8p-9,
            0x1.cb98ef6b626d6p-16, 0x1.bdab92d4bc892p-23, 0x1.0fa587d220059p-30, 0x1.c685121afb044p-39,
            0x1.150a67aeebe55p-47, 0x1.00f719ad605e0p-56, 0x1.76d51d6eae1eap-66, 0x1.b92ea0951a9fap-76,
            0x1.abd01f9857e0ap-86, 0x1.5baed49910f79p-96, 0x1.e077fe0ffbcf0p-107, 0x1.1db6da46c1266p-117,
            0x1.2786d45387231p-128, 0x1.0c478fba94189p-139, 0x1.aeee3a985212fp-151, 0x1.345de7bcf6edep-162,
            0x1.8bb2e2cab38efp-174, 0x1.c9d91b3d449fap-186, 0x1.e01e85b0d8acap-198, 0x1.ca6854ae19b4fp-210,
            0x1.902daef872fa0p-222, 0x1.40a4cde5eb261p-234, 0x1.d948210f786cap-247, 0x1.42c55a26001e7p-259,
            0x1.980bd2ad32160p-272)
REPDL_TABLE(AiryValueLow, double, 16, 0x1.7a96d7bb04e65p-56, -0x1.63c3160d48448p-60, 0x1.c34371960edcbp-63,
            0x1.de51609cdb768p-72, -0x1.ba96f056185f6p-77, -0x1.178572cba3946p-84, 0x1.2815ec9b248b6p-94,
            0x1.af91a731b83e0p-101, -0x1.2a692bcd1912ap-112, 0x1.b6a5c0ade65a6p-125, 0x1.0babada8bf24bp-131,
            -0x1.690bf2c137224p-141, -0x1.a3810d04c37b9p-153, 0x1.87dbe37ea8aeep-161, -0x1.605f68f830538p-173,
            -0x1.e63cdfab3b8f2p-182)
REPDL_TABLE(AirySlope, double, 28, -0x1.0907f42b70f8bp-2, -0x1.615ff039ebf63p-6, -0x1.0d3ce7ca9b664p-11,
            -0x1.7eea883c98befp-18, -0x1.3a3006c2216ecp-25, -0x1.4f2229579b20cp-33, -0x1.f5b861d27f717p-42,
            -0x1.16026d9da4d12p-50, -0x1.da78328b56ba4p-60, -0x1.415577907bc08p-69, -0x1.61d011233754dp-79,
            -0x1.42e8c9d290808p-89, -0x1.f07c3714164c2p-100, -0x1.45e5e28356d76p-110, -0x1.71914dfa25cf2p-121,
            -0x1.6da3cb8a692dep-132, -0x1.3e61586a96cbap-143, -0x1.ebbc935ebce28p-155, -0x1.5315419759bc6p-166,
            -0x1.a41c31abe0145p-178, -0x1.d627f233e6595p-190, -0x1.dd9e6be3742a0p-202, -0x1.ba685d7365002p-214,
            -0x1.772d2639c9f03p-226, -0x1.245ff86206f73p-238, -0x1.a432fa433a562p-251, -0x1.17507fccf7d4ep-263,
            -0x1.587f0914d9ca1p-276)
REPDL_TABLE(AirySlopeLow, double, 16, 0x1.d1459035afde2p-56, -0x1.93a33fb86ad7dp-60, -0x1.c1f1853e396d2p-67,
            -0x1.6eda5719eb45ep-74, 0x1.c1e05728a1ca5p-79, -0x1.5354f85d314a6p-87, 0x1.8740bb440e7c7p-99,
            -0x1.0978bef14fe5ap-104, -0x1.213b4cb3bb8ecp-114, -0x1.45e9da8cafc90p-123, 0x1.ff47a9e5da68bp-135,
            -0x1.9986ec789ac74p-145, 0x1.dd5d23686447ep-156, -0x1.3cceadae59166p-166, 0x1.7ba90e8c845e9p-175,
            0x1.02e1236b1dccap-186)

// 2 sqrt(pi) x^(1/4) exp(zeta) Ai(x) as polynomials in 1 / zeta - 11/32, for zeta from 2 to 16/3, and in 1 / zeta - 3/32.
REPDL_TABLE(AiryFar, double, 52, 0x1.f57cb0e70632fp-1, -0x1.ab4d4c67d98c0p-5, 0x1.1f61df9257dc5p-6,
            -0x1.3bbdce6ed77aep-7, 0x1.c2e6e82bba8d1p-8, -0x1.7d84ee71cf796p-8, 0x1.6c6f1b4c77d9fp-8,
            -0x1.7db5aaec539e6p-8, 0x1.ae15071a8160fp-8, -0x1.012f8207d7097p-7, 0x1.435478c22bba4p-7,
            -0x1.a8263822b4810p-7, 0x1.20a214e94f8aep-6, -0x1.95b3fed490228p-6, 0x1.2562cd19948fap-5,
            -0x1.b34a023dc38fdp-5, 0x1.4a6eeec9ebf87p-4, -0x1.001934ee99a10p-3, 0x1.9409026f9ed92p-3,
            -0x1.44b083f7ce1bfp-2, 0x1.0e46572935620p-1, -0x1.c0b2d9556e605p-1, 0x1.3ac121305da71p+0,
            -0x1.09738512c5580p+1, 0x1.c277549a7510dp+2, -0x1.8c999e7189f82p+3, 0x1.fcd1d5c7e5b79p-1,
            -0x1.03652cd802b35p-4, 0x1.d775d51c0c77cp-6, -0x1.7e6908590ff31p-6, 0x1.afc18720fb6c7p-6,
            -0x1.3126b2cdcd7e5p-5, 0x1.fd977d31ba4f2p-5, -0x1.e4d01d317691bp-4, 0x1.006613e4693ecp-2,
            -0x1.2841aed4b839ep-1, 0x1.710dceb435212p+0, -0x1.eaa6ea18d067cp+1, 0x1.594dbb2328a2cp+3,
            -0x1.ff3878721c645p+4, 0x1.8bdcae9716062p+6, -0x1.3f501ec2a280cp+8, 0x1.0c331401abe1ep+10,
            -0x1.d0de01e949d52p+11, 0x1.8d59ed5c5f8fdp+13, -0x1.69bf6d2128363p+15, 0x1.ca17d942303a7p+17,
            -0x1.cafdfa4b73cd8p+19, -0x1.40d39bf9c148cp+18, 0x1.50345b4f4af61p+21, 0x1.1adc9f1f86681p+27,
            -0x1.3644f7282b611p+29)
REPDL_TABLE(AiryFarLow, double, 8, 0x1.cb1f69ae09371p-62, -0x1.76feed752e1a7p-59, 0x1.f78ecdf234e21p-64,
            0x1.1618bc950b652p-61, 0x1.0a9d1e7f342a4p-55, 0x1.3c6bbecadf7b7p-59, 0x1.4938744a53ecap-60,
            0x1.6be76395354e4p-62)

// m and zeta p as polynomials in 1 / zeta^2 - 5/512, for zeta from 8 to 16, and in 1 / zeta^2 - 1/512.
REPDL_TABLE(AiryModulus, double, 36, 0x1.ffd4367a8fccdp-1, -0x1.1437458782f8cp-5, 0x1.8a85b34212c90p-5,
            -0x1.99a065c77f006p-3, 0x1.850662e15f1dep+0, -0x1.1371af151fc97p+4, 0x1.0382aed01623bp+8,
            -0x1.2f12814037dd8p+12, 0x1.a275470d88423p+16, -0x1.4a659eb9d2e09p+21, 0x1.2339435c59f8ep+26,
            -0x1.1971d48b4251dp+31, 0x1.26bcf5cc2557fp+36, -0x1.499e51e7861f5p+41, 0x1.7495839c60983p+46,
            -0x1.ccb9f21db4763p+51, 0x1.b4849a473bc32p+57, -0x1.2fb9624c872cep+63, 0x1.fff7236d75b96p-1,
            -0x1.1ab5083091c23p-5, 0x1.b64e8743d917fp-5, -0x1.0ba3bede21e97p-2, 0x1.46f784e9964c4p+1,
            -0x1.45eb18582aeb1p+5, 0x1.d71a394a6f5b0p+9, -0x1.c8eaae0c9ff2dp+14, 0x1.1989994532b4dp+20,
            -0x1.a7614d7e51db5p+25, 0x1.78aa87acc518bp+31, -0x1.830a20bc76432p+37, 0x1.c2e44957519fbp+43,
            -0x1.24d5632c38d70p+50, 0x1.98171107dc797p+56, -0x1.3b12f83c4db2bp+63, 0x1.621240b450169p+70,
            -0x1.49af427ad5e7fp+77)
REPDL_TABLE(AiryModulusLow, double, 8, -0x1.e59cd567098e8p-55, 0x1.6ffead3f9323bp-61, 0x1.7604efab5c955p-61,
            0x1.3cca48c329c3fp-59, -0x1.0f71e96602706p-55, -0x1.bc6b084868210p-60, 0x1.48dca269f051bp-60,
            0x1.720a8640f824ap-57)
REPDL_TABLE(AiryPhase, double, 36, -0x1.1b1059c19b3ddp-4, 0x1.12fac4e577050p-5, -0x1.7554db26b9d4bp-4,
            0x1.15e80048ae34dp-1, -0x1.500f24ca7cf78p+2, 0x1.1bfc7a652e05ap+6, -0x1.32d074f7cbc5ap+10,
            0x1.900d5513d3fa9p+14, -0x1.2e95b4ca5422ap+19, 0x1.0223ad971f7b6p+24, -0x1.e68550df7abd4p+28,
            0x1.f28e88fe58c10p+33, -0x1.1327b636b974bp+39, 0x1.4272f22268909p+44, -0x1.791237988eef0p+49,
            0x1.e4267ff5796a1p+54, -0x1.e982ad445b0cbp+60, 0x1.5fda15af488f6p+66, -0x1.1c29753937344p-4,
            0x1.1f8e2fdeffb88p-5, -0x1.b311c6839dbaep-4, 0x1.889429248edb2p-1, -0x1.3ae178c2a4b69p+3,
            0x1.81d9968d8e5c6p+7, -0x1.48ac0f1ec9042p+12, 0x1.6ce519ce96272p+17, -0x1.f7da5c9f1f99fp+22,
            0x1.a1aa28d9e9a99p+28, -0x1.947c54810ae92p+34, 0x1.bfddc196cac7ap+40, -0x1.16e118061e824p+47,
            0x1.808c0d2a4fdb4p+53, -0x1.1936735381dfcp+60, 0x1.c77a3d6907f37p+66, -0x1.138387064c5d6p+74,
            0x1.0ba8efc906653p+81)
REPDL_TABLE(AiryPhaseLow, double, 8, 0x1.6f70df9bc83a6p-59, 0x1.6b5b1d7e3eb3cp-61, -0x1.375bc955a6645p-63,
            -0x1.b4d479c2d2905p-55, 0x1.28edbe6ba76d3p-61, -0x1.ecb5c016bec7fp-59, -0x1.1568013784cd9p-60,
            0x1.8ef1a8b74febdp-56)

/// Between these two Ai is a sum of powers.
constexpr double kAiryWave = -5.25, kFarAiry = 2.125;

/// Ai(x) for x between them in doubles, off by less than `error`: a term with x^(3 k) has an error of at most
/// (2 k + 3) 2^-53 of it, and the terms come to 2^10 or, from -2 on, to 2^2.
template <class D, class V>
REPDL_LANE V QuickNearAiry(D d, V x, V& error) {
  const V cube = Mul(Mul(x, x), x);
  error = IfThenElse(Lt(x, Set(d, -2.0)), Set(d, 0x1p-38), Set(d, 0x1p-47));
  return Fma(SeriesOf<24>(d, AirySlope(), cube), x, SeriesOf<24>(d, AiryValue(), cube));
}

/// The same in pairs.
template <class D, class V>
REPDL_LANE_RARE Pair<V> NearAiry(D d, V x, V& error) {
  V square_low;
  const V square = TwoProd(x, x, square_low);
  const Pair<V> cube = Times(Pair<V>{square, square_low}, x);
  const Pair<V> value = SeriesPair<16, 28>(d, AiryValue(), AiryValueLow(), cube);
  const Pair<V> slope = SeriesPair<16, 28>(d, AirySlope(), AirySlopeLow(), cube);
  error = IfThenElse(Lt(x, Set(d, -2.0)), Set(d, 0x1p-73), Set(d, 0x1p-95));
  return Plus(value, Times(slope, x));
}

/// zeta for x > 0, whose square root is `root`.
template <class D, class V>
REPDL_LANE Pair<V> AiryExponent(D d, V x, Pair<V> root) {
  const Pair<V> two_thirds = {Set(d, 0x1.5555555555555p-1), Set(d, 0x1.5555555555555p-55)};
  return Times(Times(root, x), two_thirds);
}

/// Ai(x) for x from 2.125 to 92.
template <class D, class V>
REPDL_LANE_RARE Pair<V> FarAiry(D d, V x, V& error) {
  const V zero = Zero(d);
  const Pair<V> root = Root(Pair<V>{x, zero}), zeta = AiryExponent(d, x, root);
  const Pair<V> inverse = Over(Pair<V>{Set(d, 1.0), zero}, zeta);
  const auto farther = Le(V(inverse.high), Set(d, 0.1875));
  const Pair<V> t = Shifted(inverse, IfThenElse(farther, Set(d, -0.09375), Set(d, -0.34375)));
  const Pair<V> sum = FarSeries<4, 26>(d, AiryFar(), AiryFarLow(), farther, t);
  V n = zero;
  const Pair<V> e = ExpOver(d, Negated(zeta), n);
  const Pair<V> four_pi = {Set(d, 0x1.921fb54442d18p+3), Set(d, 0x1.1a62633145c07p-51)};
  const Pair<V> result = Scaled(Over(Times(sum, e), Root(Times(four_pi, root))), PowerOfTwo(d, n));
  error = Mul(V(result.high), Set(d, 0x1p-66));
  return result;
}

/// Ai(-x) for x from 5.25 to 2^17: m cos(zeta - pi / 4 + p) / (sqrt(pi) x^(1/4)), m and zeta p being polynomials in
/// 1 / zeta^2.
template <class D, class V>
REPDL_LANE_RARE Pair<V> AiryWave(D d, V x, V& error) {
  const IntTag<D> di;
  const V to_integer = Set(d, 0x1.8p52);
  const V zero = Zero(d);
  const Pair<V> root = Root(Pair<V>{x, zero}), zeta = AiryExponent(d, x, root);
  const Pair<V> inverse = Over(Pair<V>{Set(d, 1.0), zero}, zeta);
  const Pair<V> square = Times(inverse, inverse);
  const auto farther = Le(V(square.high), Set(d, 0x1p-8));
  const Pair<V> t = Shifted(square, IfThenElse(farther, Set(d, -0x1p-9), Set(d, -0x1.4p-7)));
  const Pair<V> modulus = FarSeries<4, 18>(d, AiryModulus(), AiryModulusLow(), farther, t);
  const Pair<V> phase = FarSeries<4, 18>(d, AiryPhase(), AiryPhaseLow(), farther, t);
  // zeta = (quadrant + 1/2) pi / 2 + r
  const V shifted = Add(Fma(V(zeta.high), Set(d, 0x1.45f306dc9c883p-1), Set(d, -0.5)), to_integer);
  V r_low;
  const V r = RemainderPair<false>(d, V(zeta.high), Add(Sub(shifted, to_integer), Set(d, 0.5)), 2.0, r_low);
  const Pair<V> rest = Plus(PairOf(r, r_low), Pair<V>{V(zeta.low), zero});
  const Pair<V> angle = Plus(rest, Times(phase, inverse));
  const Pair<V> pi = {Set(d, 0x1.921fb54442d18p+1), Set(d, 0x1.1a62633145c07p-53)};
  return WaveOfQuadrant<false>(d, BitCast(di, shifted), angle, Over(modulus, Root(Times(pi, root))), error);
}

/// Ai(x) for x from -2^17 to 92, off by less than `error`.
template <class D, class V>
REPDL_LANE Pair<V> AiryPair(D d, V x, V& error) {
  const V first = Set(d, kAiryWave), last = Set(d, kFarAiry);
  const auto wave = Lt(x, first), far = Gt(x, last);
  const auto near = Not(Or(wave, far));
  Pair<V> result = {Zero(d), Zero(d)};
  V other_error;
  error = Zero(d);
  if (Any(d, near)) result = NearAiry(d, Limit(x, first, last), error);
  if (Any(d, far)) {
    result = Choose(far, FarAiry(d, Max(x, last), other_error), result);
    error = IfThenElse(far, other_error, error);
  }
  if (Any(d, wave)) {
    result = Choose(wave, AiryWave(d, Neg(Min(x, first)), other_error), result);
    error = IfThenElse(wave, other_error, error);
  }
  return result;
}

/// Below this zeta is left to the accurate step.
constexpr double kLargeAiry = -0x1p17;
