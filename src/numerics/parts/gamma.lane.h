// SPDX-License-Identifier: MIT
// The quick steps of the gamma function's logarithm and of its derivatives, for doubles: sums of two doubles. Constants
// from tools/coefficients/gamma.py.

// log(gamma(2 + t)) / t for |t| <= 1/2, and the rest of the first coefficients.
REPDL_TABLE(LgammaNearTwo, double, 24, 0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557607p-4,
            0x1.51322ac7d8483p-6, -0x1.e404fc218f5eep-8, 0x1.7add6eadb6c21p-9, -0x1.38ac5c2bf919fp-10,
            0x1.0b36af863a33ap-11, -0x1.d3fd4c768e059p-13, 0x1.a127b0f0c4e5dp-14, -0x1.78de5bf02b1d7p-15,
            0x1.580dcf1bf8a0bp-16, -0x1.3cbc90c7b0378p-17, 0x1.2597997444a8ap-18, -0x1.11b3b8d0e6d87p-19,
            0x1.00661a5d44bbfp-20, -0x1.e237ef4433fc3p-22, 0x1.c73249be914f5p-23, -0x1.b1eccc8f974adp-24,
            0x1.9d0649476ebbbp-25, -0x1.6bc010105f69ep-26, 0x1.55b34f1c37dfbp-27, -0x1.fb2dc0f182121p-28,
            0x1.f550e737753b9p-29)
REPDL_TABLE(LgammaNearTwoLow, double, 7, 0x1.6cb942580255bp-58, 0x1.1873284087434p-56, 0x1.fa5e6f754aa16p-58,
            0x1.c05317403c104p-60, -0x1.bf7124b6a6b74p-62, 0x1.68a490c065b61p-66, -0x1.24b0f6226a184p-64)

// digamma(5/2 + t) for |t| <= 1/2.
REPDL_TABLE(DigammaFromTwo, double, 23, 0x1.680425af12b5ep-1, 0x1.f62057f7296c9p-2, -0x1.e3bef327df0e7p-4,
            0x1.31b4c4359dfe5p-5, -0x1.ac61ab99a0b45p-7, 0x1.3bf9d580e52ecp-8, -0x1.dfdf12b5d6db0p-10,
            0x1.72e00847c0bf7p-11, -0x1.21de18e6f3753p-12, 0x1.c872dbb1fb1bap-14, -0x1.6926f1e73e26ap-15,
            0x1.1eb569a805602p-16, -0x1.c844b5c0708d1p-18, 0x1.6ba223cb390a9p-19, -0x1.2220fb4b653adp-20,
            0x1.cf4c84b4d00adp-22, -0x1.72214fa3e6f15p-23, 0x1.2851cc989d607p-24, -0x1.da0bf6533d379p-26,
            0x1.6fdbfe411470fp-27, -0x1.24739a3bced19p-28, 0x1.3195bc36b112fp-29, -0x1.f2f0391d940a5p-31)
REPDL_TABLE(DigammaFromTwoLow, double, 7, -0x1.46eb61dc09bbep-58, 0x1.9739b1ed83e58p-57, -0x1.a2f0de65a1700p-58,
            0x1.78028f89d62bfp-62, 0x1.ce3c3573f113dp-61, 0x1.08439b29cf184p-62, -0x1.d592f4c94b3e0p-65)

// B(2 k) / (2 k (2 k - 1)) for k = 1, 2, …, Bernoulli's numbers in Stirling's series, and what the doubles leave.
REPDL_TABLE(Stirling, double, 32, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
            -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10, 0x1.a41a41a41a41ap-8,
            -0x1.e4286cb0f5398p-6, 0x1.6fe96381e0680p-3, -0x1.6476701181f3ap+0, 0x1.ace44322ce006p+3,
            -0x1.39b2525cccc1bp+7, 0x1.12234e81b4e82p+11, -0x1.1a198ae1c4ab8p+15, 0x1.51a2089a6e11ap+19,
            -0x1.d1089b142d357p+23, 0x1.6d29a0f6433b8p+28, -0x1.445119d9e466fp+33, 0x1.43779bc9d4025p+38,
            -0x1.6800b7bc07a8dp+43, 0x1.bc8cd6f8f1f75p+48, -0x1.2efaec50eee53p+54, 0x1.c5c266feb5e18p+59,
            -0x1.73c1280b15b12p+65, 0x1.4befddf3ce359p+71, -0x1.41df01caf2a81p+77, 0x1.51d7fc91b42fcp+83,
            -0x1.7eb054866aadfp+89, 0x1.d28166e47cd90p+95, -0x1.31342a0d12ce5p+102, 0x1.ab9d9181cb59ap+108,
            -0x1.400a6d954abb3p+115)
REPDL_TABLE(StirlingLow, double, 32, 0x1.5555555555555p-58, 0x1.f49f49f49f49fp-64, 0x1.a01a01a01a01ap-71,
            0x1.fb1fb1fb1fb20p-65, 0x1.5c3a9ce01b952p-65, 0x1.f82553c999b0ep-64, 0x1.0690690690690p-62,
            0x1.1efcdab896745p-61, -0x1.79e2405a71f88p-61, 0x1.24246319da678p-56, -0x1.62c2b1bbcdd32p-51,
            0x1.52604768a30fcp-47, -0x1.2c5f92c5f92c6p-43, 0x1.4c012227b696ep-41, 0x1.c219ee4fdc447p-36,
            -0x1.e2030b4d5de20p-31, -0x1.9dbcc48676f31p-26, 0x1.5159fdb2a3b69p-22, -0x1.95e8efdb195e9p-18,
            0x1.eaede53f475a8p-11, 0x1.71e1d4f36d757p-6, -0x1.e5a0284fa7ec4p+0, -0x1.26f494f5cad2bp+4,
            -0x1.6b4f92ff986cep+6, -0x1.bfe6caa599ba0p+13, -0x1.3369924971b22p+20, -0x1.333437c4fa799p+29,
            -0x1.8b9264ad5ab66p+35, -0x1.78c4478cc77dep+41, 0x1.9c0733c4b0baep+47, -0x1.2a704126a3c70p+49,
            0x1.c8f68d231ec64p+61)
REPDL_TABLE(StirlingLowest, double, 32, 0x1.5555555555555p-112, 0x1.27d27d27d27d2p-118, 0x1.a01a01a01a01ap-131,
            -0x1.3813813813814p-119, -0x1.d4e700dca8f16p-121, 0x1.bf04aa7933362p-121, 0x1.a41a41a41a41ap-116,
            0x1.1806f5e4d3c2bp-116, 0x1.9ffe861dbfa59p-117, 0x1.59f8b74eb3e0bp-111, 0x1.69d3d4e44322dp-113,
            0x1.ae3125dab6b69p-103, 0x1.b4e81b4e81b4fp-101, 0x1.c98d64da3a05bp-101, -0x1.8cd448d3fe59fp-90,
            -0x1.85a6aef10185ap-86, -0x1.0cede62433b7ap-81, -0x1.858d36a2301e5p-76, 0x1.024e6a171024ep-74,
            0x1.37abb794fd1d7p-65, 0x1.1b663bbb2b27ap-61, -0x1.1912dc80df178p-55, -0x1.9946f84b34d06p-53,
            0x1.15df627277e53p-50, -0x1.810770e171d4ap-41, 0x1.b6e596b2110f7p-34, 0x1.2b763ac3cbdfap-31,
            0x1.3d10c45e4a10fp-22, -0x1.d2469747e290ep-13, 0x1.f287ba2d39cd9p-7, 0x1.661ec6a5122f9p-10,
            -0x1.e1b1a99958544p+7)

// B(2 k) / (2 k), in the derivative of the series.
REPDL_TABLE(StirlingSlopes, double, 11, 0x1.5555555555555p-4, -0x1.1111111111111p-7, 0x1.0410410410410p-8,
            -0x1.1111111111111p-8, 0x1.f07c1f07c1f08p-8, -0x1.5995995995996p-6, 0x1.5555555555555p-4,
            -0x1.c5e5e5e5e5e5ep-2, 0x1.86e7f9b9fe6e8p+1, -0x1.a74ca514ca515p+4, 0x1.1975cc0ed7304p+8)

// trigamma(5/2 + t) for |t| <= 1/2.
REPDL_TABLE(TrigammaFromTwo, double, 25, 0x1.f62057f7296c9p-2, -0x1.e3bef327df0e7p-3, 0x1.ca8f26506cfd8p-4,
            -0x1.ac61ab99a0b45p-5, 0x1.8af84ae11e78fp-6, -0x1.67e74e08611e5p-7, 0x1.4484073eca442p-8,
            -0x1.21de18e6f7ed0p-9, 0x1.00c09b9341141p-10, -0x1.c370ae5d50eb6p-12, 0x1.8a3971cf57abbp-13,
            -0x1.56338944c9161p-14, 0x1.2773a2ecb3f19p-15, -0x1.fbb9678c5a50dp-17, 0x1.b25e249221005p-18,
            -0x1.7229f0146ae41p-19, 0x1.3a56e98c6466cp-20, -0x1.0a0be3e1dbebbp-21, 0x1.c11487cd023aep-23,
            -0x1.7b326fd15e31ep-24, 0x1.3eb7506f823aap-25, -0x1.fee6994c39507p-27, 0x1.a7f80d0089637p-28,
            -0x1.e922199fa85d2p-29, 0x1.a052319fb6da7p-30)
REPDL_TABLE(TrigammaFromTwoLow, double, 8, 0x1.973543d090c53p-57, -0x1.a2c6b11bffcf3p-57, -0x1.9506807dd5125p-58,
            0x1.cac0e74311f5ap-60, -0x1.3e3c5979bf263p-60, -0x1.b5cb2c8d98006p-62, -0x1.bd50dacec5ba9p-62,
            -0x1.a81ee204e1bdcp-63)

// B(2 k), in the series of trigamma.
REPDL_TABLE(StirlingCurves, double, 12, 0x1.5555555555555p-3, -0x1.1111111111111p-5, 0x1.8618618618618p-6,
            -0x1.1111111111111p-5, 0x1.364d9364d9365p-4, -0x1.0330330330330p-2, 0x1.2aaaaaaaaaaabp+0,
            -0x1.c5e5e5e5e5e5ep+2, 0x1.b7c4f8f13e3c5p+5, -0x1.088fe72cfe72dp+9, 0x1.8301f89467e25p+12,
            -0x1.523440cc0cc0dp+16)

/// The sum of c[k] t^k for k < kTerms; the first kPairs coefficients have a low part.
template <int kPairs, int kTerms, class D, class V>
REPDL_LANE Pair<V> PolynomialPair(D d, const double* c, const double* c_low, V t, V t_low) {
  V p = Set(d, c[kTerms - 1]);
  for (int k = kTerms - 2; k >= kPairs; --k) p = Fma(p, t, Set(d, c[k]));
  V p_low;
  p = AddToPair(d, Mul(p, t), c[kPairs - 1], c_low[kPairs - 1], p_low);
  for (int k = kPairs - 2; k >= 0; --k) p = HornerPair(d, p, p_low, t, t_low, c[k], c_low[k]);
  return PairOf(p, p_low);
}

/// From here on Stirling's series is taken.
constexpr double kStirlingFrom = 12.0;
/// The sizes that the quick steps are made for.
constexpr double kLeastGamma = 0x1p-200, kLargestGamma = 0x1p500;
/// What part of their terms the quick steps may be off by.
constexpr double kGammaBound = 0x1p-66;

/// 1 / y.
template <class D, class V>
REPDL_LANE Pair<V> InversePair(D d, V y) {
  const V one = Set(d, 1.0);
  const V inverse = Div(one, y);
  return {inverse, Mul(Fma(Neg(inverse), y, one), inverse)};
}

/// The sum of c[k] z^k from k = 1 to kTerms - 1.
template <int kTerms, class D, class V>
REPDL_LANE V StirlingTail(D d, const double* c, V z) {
  V p = Set(d, c[kTerms - 1]);
  for (int k = kTerms - 2; k > 0; --k) p = Fma(p, z, Set(d, c[k]));
  return Mul(p, z);
}

/// log|gamma(x)| = the result + low, off by less than `error`, where `usual` is set: not at poles, nor for numbers that
/// are infinite, NaN, or not from 2^-200 to 2^500. Below 12, gamma(x) is that of a number of [1.5, 2.5] times the
/// factors between; below 0, pi / (x sin(pi x) gamma(-x)).
template <class D, class V, class M>
REPDL_LANE V LgammaQuick(D d, V x, V& low, V& error, M& usual) {
  const V zero = Zero(d), one = Set(d, 1.0), a = Abs(x);
  const V y = Limit(a, Set(d, kLeastGamma), Set(d, kLargestGamma));
  const auto far = Ge(y, Set(d, kStirlingFrom)), negative = Lt(x, zero), never = Lt(y, y);
  usual = Eq(y, a);

  V w = y;
  Pair<V> factors = {one, zero};
  for (;;) {
    const auto above = And(Gt(w, Set(d, 2.5)), Not(far));
    if (!Any(d, above)) break;
    w = IfThenElse(above, Sub(w, one), w);
    factors = Choose(above, Times(factors, w), factors);
  }
  const auto small = Lt(w, Set(d, 0.5)), below = Lt(w, Set(d, 1.5));
  V next_low;
  const V next = TwoSum(one, w, next_low);
  Pair<V> log = Choose(below, Pair<V>{w, zero}, factors);
  log = Choose(small, Times(Pair<V>{next, next_low}, w), log);
  log = Choose(far, Pair<V>{y, zero}, log);
  log = LogNumber(d, log, zero, never, log);

  const V t = Sub(w, IfThenElseZero(Not(small), IfThenElse(below, one, Set(d, 2.0))));
  const Pair<V> slope = PolynomialPair<7, 24>(d, LgammaNearTwo(), LgammaNearTwoLow(), t, zero);
  Pair<V> y_result = Plus(Times(slope, t), Choose(below, Negated(log), log));
  if (Any(d, far)) {
    const Pair<V> inverse = InversePair(d, y);
    const V r = inverse.high, twelfth = Set(d, Stirling()[0]);
    V first_low, less_low;
    const V first = TwoProd(r, twelfth, first_low);
    first_low = Fma(V(inverse.low), twelfth, Fma(r, Set(d, StirlingLow()[0]), first_low));
    first_low = Fma(StirlingTail<11>(d, Stirling(), Mul(r, r)), r, first_low);
    const V less = TwoSum(y, Set(d, -0.5), less_low);
    Pair<V> sum = Plus(Times(log, Pair<V>{less, less_low}), Pair<V>{Neg(y), zero});
    sum = Plus(sum, Pair<V>{Set(d, 0x1.d67f1c864beb5p-1), Set(d, -0x1.65b5a1b7ff5dfp-55)});
    y_result = Choose(far, Plus(sum, Pair<V>{first, first_low}), y_result);
  }
  error = Mul(Abs(V(y_result.high)), Set(d, kGammaBound));

  if (Any(d, negative)) {
    const V f = Abs(Sub(y, Round(y)));
    usual = And(usual, Not(And(negative, Eq(f, zero))));
    V angle_low, sine_low;
    const V angle = TwoProd(f, Set(d, 0x1.921fb54442d18p+1), angle_low);
    angle_low = Fma(f, Set(d, 0x1.1a62633145c07p-53), angle_low);
    const V sine = SinePair(d, angle, angle_low, sine_low);
    const Pair<V> inverse_pi = {Set(d, 0x1.45f306dc9c883p-2), Set(d, -0x1.6b01ec5417056p-56)};
    Pair<V> reflected = Times(Times(PairOf(sine, sine_low), inverse_pi), y);
    reflected = Choose(Eq(f, zero), Pair<V>{one, zero}, reflected);
    reflected = LogNumber(d, reflected, zero, never, reflected);
    error = Fma(IfThenElseZero(negative, Abs(V(reflected.high))), Set(d, kGammaBound), error);
    y_result = Choose(negative, Negated(Plus(reflected, y_result)), y_result);
  }
  low = y_result.low;
  return y_result.high;
}

/// The derivative of log(gamma(x)), likewise. Below 12, it is that of a number of [2, 3] and a sum of inverse numbers,
/// which is numerator / factors; below 0, digamma(-x) - 1 / x - pi / tan(pi x).
template <class D, class V, class M>
REPDL_LANE V DigammaQuick(D d, V x, V& low, V& error, M& usual) {
  const V zero = Zero(d), one = Set(d, 1.0), half = Set(d, 0.5), a = Abs(x), bound = Set(d, kGammaBound);
  const V y = Limit(a, Set(d, kLeastGamma), Set(d, kLargestGamma));
  const auto far = Ge(y, Set(d, kStirlingFrom)), negative = Lt(x, zero), never = Lt(y, y);
  usual = Eq(y, a);

  V w = y;
  Pair<V> numerator = {zero, zero}, factors = {one, zero};
  for (;;) {
    const auto above = And(Gt(w, Set(d, 3.0)), Not(far));
    if (!Any(d, above)) break;
    w = IfThenElse(above, Sub(w, one), w);
    numerator = Choose(above, Plus(Times(numerator, w), factors), numerator);
    factors = Choose(above, Times(factors, w), factors);
  }
  const auto below_one = Lt(y, one), below_two = Lt(y, Set(d, 2.0));
  V next_low, twice_low, t_low;
  const V next = TwoSum(one, y, next_low), twice = TwoSum(one, Add(y, y), twice_low);
  numerator = Choose(below_two, Pair<V>{Set(d, -1.0), zero}, numerator);
  numerator = Choose(below_one, Pair<V>{Neg(twice), Neg(twice_low)}, numerator);
  factors = Choose(below_two, Pair<V>{y, zero}, factors);
  factors = Choose(below_one, Times(Pair<V>{next, next_low}, y), factors);
  const V middle = IfThenElse(below_one, Set(d, -0.5), IfThenElse(below_two, Set(d, -1.5), Set(d, -2.5)));
  const V t = TwoSum(w, middle, t_low);
  const Pair<V> start = PolynomialPair<7, 23>(d, DigammaFromTwo(), DigammaFromTwoLow(), t, t_low);
  const Pair<V> inverses = Over(numerator, factors);
  Pair<V> y_result = Plus(start, inverses);
  error = Mul(Add(Abs(V(start.high)), Abs(V(inverses.high))), bound);
  if (Any(d, far)) {
    const Pair<V> inverse = InversePair(d, y), log = LogNumber(d, Pair<V>{y, zero}, zero, never, Pair<V>{y, zero});
    const V r = inverse.high, twelfth = Set(d, Stirling()[0]);
    V square_low, first_low;
    const V square = TwoProd(r, r, square_low);
    square_low = Fma(Add(r, r), V(inverse.low), square_low);
    const V first = TwoProd(square, twelfth, first_low);
    first_low = Fma(square_low, twelfth, Fma(square, Set(d, StirlingLow()[0]), first_low));
    first_low = Fma(StirlingTail<11>(d, StirlingSlopes(), square), square, first_low);
    const Pair<V> sum = Plus(log, Negated(Scaled(inverse, half)));
    y_result = Choose(far, Plus(sum, Pair<V>{Neg(first), Neg(first_low)}), y_result);
    error = IfThenElse(far, Mul(Abs(V(log.high)), bound), error);
  }

  if (Any(d, negative)) {
    const V f = Sub(y, Round(y)), size = Abs(f);
    const auto pole = Eq(f, zero), near = Le(size, Set(d, 0.25));
    usual = And(usual, Not(And(negative, pole)));
    const V g = IfThenElse(near, size, Sub(half, size));
    V angle_low, sine, sine_low, cosine, cosine_low;
    const V angle = TwoProd(g, Set(d, 0x1.921fb54442d18p+1), angle_low);
    angle_low = Fma(g, Set(d, 0x1.1a62633145c07p-53), angle_low);
    SineAndCosinePairs(d, angle, angle_low, sine, sine_low, cosine, cosine_low);
    const Pair<V> sines = PairOf(sine, sine_low), cosines = PairOf(cosine, cosine_low);
    const Pair<V> under = Choose(pole, Pair<V>{one, zero}, Choose(near, sines, cosines));
    Pair<V> reflected = Over(Choose(near, cosines, sines), under);
    reflected = Times(reflected, Pair<V>{Set(d, 0x1.921fb54442d18p+1), Set(d, 0x1.1a62633145c07p-53)});
    reflected = Scaled(reflected, CopySign(one, f));
    const Pair<V> inverse = InversePair(d, y);
    const V size_of_terms = Add(Abs(V(reflected.high)), V(inverse.high));
    error = Fma(IfThenElseZero(negative, size_of_terms), bound, error);
    y_result = Choose(negative, Plus(Plus(y_result, inverse), reflected), y_result);
  }
  low = y_result.low;
  return y_result.high;
}

/// The derivative of digamma(x), likewise. Below 12, it is that of a number of [2, 3] and a sum of inverse squares,
/// which is numerator / squares, with its sign; below 0, (pi / sin(pi x))^2 + 1 / x^2 - trigamma(-x).
template <class D, class V, class M>
REPDL_LANE V TrigammaQuick(D d, V x, V& low, V& error, M& usual) {
  const V zero = Zero(d), one = Set(d, 1.0), a = Abs(x), bound = Set(d, kGammaBound);
  const V y = Limit(a, Set(d, kLeastGamma), Set(d, kLargestGamma));
  const auto far = Ge(y, Set(d, kStirlingFrom)), negative = Lt(x, zero);
  usual = Eq(y, a);

  V w = y;
  Pair<V> numerator = {zero, zero}, squares = {one, zero};
  for (;;) {
    const auto above = And(Gt(w, Set(d, 3.0)), Not(far));
    if (!Any(d, above)) break;
    w = IfThenElse(above, Sub(w, one), w);
    V square_low;
    const V square = TwoProd(w, w, square_low);
    numerator = Choose(above, Plus(Times(numerator, Pair<V>{square, square_low}), Negated(squares)), numerator);
    squares = Choose(above, Times(squares, Pair<V>{square, square_low}), squares);
  }
  const auto below_one = Lt(y, one), below_two = Lt(y, Set(d, 2.0));
  V next_low, square_low, t_low;
  const V next = TwoSum(one, y, next_low), y_square = TwoProd(y, y, square_low);
  // 1 / y^2 + 1 / (1 + y)^2 = (1 + 2 p) / p^2, p = y (1 + y)
  const Pair<V> product = Times(Pair<V>{next, next_low}, y), start_one = {one, zero};
  numerator = Choose(below_two, start_one, numerator);
  numerator = Choose(below_one, Plus(start_one, Scaled(product, Set(d, 2.0))), numerator);
  squares = Choose(below_two, Pair<V>{y_square, square_low}, squares);
  squares = Choose(below_one, Times(product, product), squares);
  const V middle = IfThenElse(below_one, Set(d, -0.5), IfThenElse(below_two, Set(d, -1.5), Set(d, -2.5)));
  const V t = TwoSum(w, middle, t_low);
  const Pair<V> start = PolynomialPair<8, 25>(d, TrigammaFromTwo(), TrigammaFromTwoLow(), t, t_low);
  const Pair<V> inverses = Over(numerator, squares);
  Pair<V> y_result = Plus(start, inverses);
  error = Mul(Add(Abs(V(start.high)), Abs(V(inverses.high))), bound);
  if (Any(d, far)) {
    // (1 + r / 2 + r^2 / 6 - …) r
    const Pair<V> inverse = InversePair(d, y);
    const V r = inverse.high, sixth = Set(d, StirlingCurves()[0]);
    V first_low, r_square_low;
    const V r_square = TwoProd(r, r, r_square_low);
    r_square_low = Fma(Add(r, r), V(inverse.low), r_square_low);
    const V first = TwoProd(r_square, sixth, first_low);
    first_low = Fma(r_square_low, sixth, Fma(r_square, Set(d, 0x1.5555555555555p-57), first_low));
    first_low = Fma(StirlingTail<12>(d, StirlingCurves(), r_square), r_square, first_low);
    Pair<V> sum = Plus(start_one, Scaled(inverse, Set(d, 0.5)));
    sum = Plus(sum, Pair<V>{first, first_low});
    y_result = Choose(far, Times(sum, inverse), y_result);
    error = IfThenElse(far, Mul(V(y_result.high), bound), error);
  }

  if (Any(d, negative)) {
    const V f = Abs(Sub(y, Round(y)));
    const auto pole = Eq(f, zero);
    usual = And(usual, Not(And(negative, pole)));
    V angle_low, sine_low;
    const V angle = TwoProd(f, Set(d, 0x1.921fb54442d18p+1), angle_low);
    angle_low = Fma(f, Set(d, 0x1.1a62633145c07p-53), angle_low);
    const V sine = SinePair(d, angle, angle_low, sine_low);
    const Pair<V> pi = {Set(d, 0x1.921fb54442d18p+1), Set(d, 0x1.1a62633145c07p-53)};
    const Pair<V> ratio = Over(pi, Choose(pole, start_one, PairOf(sine, sine_low))), reflected = Times(ratio, ratio);
    const Pair<V> inverse = InversePair(d, y), inverse_square = Times(inverse, inverse);
    const V size_of_terms = Add(Abs(V(reflected.high)), V(inverse_square.high));
    error = Fma(IfThenElseZero(negative, size_of_terms), bound, error);
    y_result = Choose(negative, Plus(reflected, Plus(inverse_square, Negated(y_result))), y_result);
  }
  low = y_result.low;
  return y_result.high;
}
