// SPDX-License-Identifier: MIT
// Logarithms of pairs and triples. Constants from tools/coefficients/double_exp_log.py.
//
// v = 2^e m, m in [0.698, 1.396), in one of 64 cells in each of which c is close to 1 / m: ln v is e ln 2 - ln c +
// ln(1 + r) with r = c m - 1, |r| < 2^-6.8. In the cell of 1, c = 1.

REPDL_TABLE(PairLogReciprocals, double, 64, 0x1.6dp+0, 0x1.688p+0, 0x1.65p+0, 0x1.61p+0, 0x1.5dp+0, 0x1.598p+0,
            0x1.56p+0, 0x1.528p+0, 0x1.4fp+0, 0x1.4b8p+0, 0x1.48p+0, 0x1.45p+0, 0x1.42p+0, 0x1.3e8p+0, 0x1.3b8p+0,
            0x1.388p+0, 0x1.358p+0, 0x1.328p+0, 0x1.3p+0, 0x1.2dp+0, 0x1.2a8p+0, 0x1.278p+0, 0x1.25p+0, 0x1.228p+0,
            0x1.2p+0, 0x1.1d8p+0, 0x1.1bp+0, 0x1.188p+0, 0x1.16p+0, 0x1.138p+0, 0x1.118p+0, 0x1.0fp+0, 0x1.0dp+0,
            0x1.0bp+0, 0x1.088p+0, 0x1.068p+0, 0x1.048p+0, 0x1.028p+0, 1.0, 0x1.f9p-1, 0x1.f2p-1, 0x1.eap-1, 0x1.e3p-1,
            0x1.dcp-1, 0x1.d5p-1, 0x1.cfp-1, 0x1.c8p-1, 0x1.c2p-1, 0x1.bcp-1, 0x1.b6p-1, 0x1.bp-1, 0x1.aap-1, 0x1.a5p-1,
            0x1.ap-1, 0x1.9ap-1, 0x1.95p-1, 0x1.9p-1, 0x1.8cp-1, 0x1.87p-1, 0x1.82p-1, 0x1.7ep-1, 0x1.79p-1, 0x1.75p-1,
            0x1.71p-1)
// -ln c, in a part of 42 bits after the point, so that its sum with e ln 2 is exact, and the rest.
REPDL_TABLE(PairLogs, double, 64, -0x1.6b3bb22359p-2, -0x1.5e87b20c29p-2, -0x1.548a2c3addp-2, -0x1.4900680401p-2,
            -0x1.3d54fa5c1fp-2, -0x1.3302c16586p-2, -0x1.2895a13de8p-2, -0x1.1e0d0c3371p-2, -0x1.136870293bp-2,
            -0x1.08a73667c5p-2, -0x1.fb9186d5e4p-3, -0x1.e8c0252aa6p-3, -0x1.d5c216b4fcp-3, -0x1.bf601bb0e4p-3,
            -0x1.abfe5ae462p-3, -0x1.986d322818p-3, -0x1.84abb75866p-3, -0x1.70b8f97a1ap-3, -0x1.5ff3070a7ap-3,
            -0x1.4ba36f39a6p-3, -0x1.3a8eb2d31ap-3, -0x1.25ded0abc6p-3, -0x1.1478584674p-3, -0x1.02ebb42bf4p-3,
            -0x1.e27076e2bp-4, -0x1.beba818148p-4, -0x1.9ab4246204p-4, -0x1.765bf23a6cp-4, -0x1.51b073f06p-4,
            -0x1.2cb0283f5cp-4, -0x1.0ed839b554p-4, -0x1.d276b8adbp-5, -0x1.95c830ec9p-5, -0x1.58a5bafc9p-5,
            -0x1.0b94f7c198p-5, -0x1.9ace7551dp-6, -0x1.1d7f7eb9fp-6, -0x1.3e7295d26p-7, 0.0, 0x1.c317384c8p-7,
            0x1.c63d2ec15p-6, 0x1.67c94f2d48p-5, 0x1.dda8adc68p-5, 0x1.2aa04a447p-4, 0x1.674f089364p-4,
            0x1.9c0c32d4d4p-4, 0x1.da72763844p-4, 0x1.08598b59e4p-3, 0x1.23d712a49cp-3, 0x1.3fb45a5992p-3,
            0x1.5bf406b544p-3, 0x1.7898d85444p-3, 0x1.90c6db9fccp-3, 0x1.a93ed3c8aep-3, 0x1.c6ffbc6fp-3,
            0x1.e020cc6236p-3, 0x1.f991c6cb3cp-3, 0x1.07138604d6p-2, 0x1.14167ef367p-2, 0x1.214456d0ecp-2,
            0x1.2bef07cdc9p-2, 0x1.396ce359bcp-2, 0x1.44591e053ap-2, 0x1.4f637ebbaap-2)
REPDL_TABLE(PairLogsLow, double, 64, -0x1.0f6257a933268p-44, -0x1.527d18f7738fap-44, -0x1.3167e63081cf7p-45,
            0x1.8bccffe1a0f8cp-44, -0x1.c3e1cd9a395e3p-44, -0x1.6217dc2a3e08bp-44, -0x1.a8d7ad24c13f0p-44,
            -0x1.af8f2a9b0d4a0p-44, 0x1.d3e8499d67123p-44, -0x1.ebc1d40c5a329p-44, 0x1.d572aab993c87p-47,
            0x1.6805b80e8e6ffp-45, 0x1.1ba91bbca681bp-45, -0x1.386a947c378b5p-45, 0x1.b68f5395f139dp-44,
            -0x1.93b564dd44p-48, 0x1.d8daadf4e2bd2p-44, -0x1.4ea64f6a95befp-44, 0x1.8586f183bebf2p-44,
            0x1.4354bb3f219e5p-44, -0x1.bafb77d5d503ep-46, -0x1.5a3854f176449p-44, -0x1.563451027c750p-46,
            0x1.5a8fa5ce00e5dp-46, 0x1.a342c2af0003cp-45, 0x1.89b78b6df1f57p-44, 0x1.8a64826787061p-45,
            0x1.ecbc035c4256ap-48, -0x1.83f69278e686ap-44, -0x1.e1ee2ca657021p-44, 0x1.901f46d48abb4p-44,
            -0x1.6a423c78a64b0p-46, 0x1.c148297c5feb8p-45, 0x1.b2b739570ad39p-45, 0x1.e89896f022783p-45,
            0x1.d75d97ec7c410p-45, 0x1.4193a83fcc7a6p-46, 0x1.609c1ff29a114p-45, 0.0, -0x1.41f33fcefb9fep-44,
            -0x1.5439ce030a687p-44, 0x1.dac20827cca0cp-44, -0x1.1b1ac64d9e42fp-45, 0x1.7a48ba8b1cb41p-44,
            0x1.a79994c9d3302p-44, -0x1.ab7c09e838668p-44, 0x1.a89401fa71733p-46, -0x1.7e5dd7009902cp-45,
            0x1.00d238fd3df5cp-46, 0x1.19713c0cae559p-44, -0x1.27023eb68981cp-46, 0x1.8e67be3dbaf3fp-44,
            -0x1.935f57718d7cap-46, -0x1.8724350562169p-45, 0x1.ee138d3a69d43p-44, -0x1.52b00adb91424p-45,
            -0x1.90d04cd7cc834p-44, -0x1.e76324e912b17p-44, 0x1.e0c07824daaf5p-44, -0x1.caf0428b728a3p-44,
            0x1.a9cfa4a5004f4p-45, -0x1.5839c5663663dp-47, -0x1.6e95892923d88p-47, -0x1.fc158cb3124b9p-44)

/// v 2^-e in [0.698, 1.396) for a normal v > 0.
template <class D, class V>
REPDL_LANE V LogFraction(D d, V v, V& e, decltype(BitCast(IntTag<D>(), v))& bits) {
  const IntTag<D> di;
  const int64_t start = 0x3fe6555555555555;  // of the least fraction
  bits = Add(BitCast(di, v), Set(di, 0x4000000000000000 - start));
  e = Sub(BitCast(d, Add(ShiftRightLogical<52>(bits), BitCast(di, Set(d, 0x1.8p52)))), Set(d, 0x1.8p52 + 1024));
  return BitCast(d, Add(And(bits, Set(di, 0x000fffffffffffff)), Set(di, start)));
}

/// e ln 2 - ln(c) + ln(1 + r) for the cell that these bits say, with a relative error below 2^-72.
template <class D, class V, class VI>
REPDL_LANE Pair<V> LogSum(D d, V e, VI cell, Pair<V> r) {
  const V h = r.high, square = Mul(h, h);
  const V p01 = Fma(Set(d, 0x1.9999999999b21p-3), h, Set(d, -0x1p-2));
  const V p23 = Fma(Set(d, 0x1.2492490c4aa5dp-3), h, Set(d, -0x1.55555555559e1p-3));
  const V p45 = Fma(Set(d, 0x1.c72b6265f3b63p-4), h, Set(d, -0x1.ffffffb0fb413p-4));
  const V p46 = Fma(Set(d, -0x1.99aaec1bc5ce6p-4), square, p45);
  const V p = Fma(Fma(p46, square, p23), square, p01);
  const Pair<V> q = ShortSeries(d, r, -0.5, 0x1.5555555555555p-2, 0x1.5555555555555p-56, p);
  V error;
  const V base = Fma(e, Set(d, 0x1.62e42fefa3800p-1), LookUp<64>(d, PairLogs(), cell));
  const V base_low = Fma(e, Set(d, 0x1.ef35793c76730p-45), LookUp<64>(d, PairLogsLow(), cell));
  const V sum = FastTwoSum(base, V(q.high), error);
  return PairOf(sum, Add(error, Add(base_low, V(q.low))));
}

// 16 cells, each of four of those above, and -ln c: c is chosen such that this is a multiple of 2^-42 to within 2^-65.8.
// In the cell of 1, c = 1.
REPDL_TABLE(QuickLogReciprocals, double, 16, 0x1.66c612e5814f0p+0, 0x1.57b8646728ed5p+0, 0x1.49e112a48af11p+0,
            0x1.3d1c139ae0f5ap+0, 0x1.314abb9343fa6p+0, 0x1.2652c7306d757p+0, 0x1.1c1d98c77926bp+0,
            0x1.1297994d71d2dp+0, 0x1.09afbe0d00138p+0, 1.0, 0x1.e6a74a30f1b09p-1, 0x1.cb5d4ef8475a0p-1,
            0x1.b2f934e22a5c5p-1, 0x1.9d0ac16b9ca5ap-1, 0x1.89374be160deap-1, 0x1.7734c34f99ec5p-1)
REPDL_TABLE(QuickLogs, double, 16, -0x1.599d63ab22000p-2, -0x1.2db8ed01df000p-2, -0x1.03a25cff1f000p-2,
            -0x1.b66a75e37e000p-3, -0x1.68a266898a000p-3, -0x1.1db2fdbdce000p-3, -0x1.aad199c584000p-4,
            -0x1.1f2b39771c000p-4, -0x1.303f550200000p-5, 0.0, 0x1.9fed3d1370000p-5, 0x1.bc5632b8b8000p-4,
            0x1.4de7b4aee0000p-3, 0x1.b7dc1df97a000p-3, 0x1.0e4cfba4ee000p-2, 0x1.3e4f3c673a000p-2)

/// ln(x), or that of x + x_low, a sum that rounds to x, as high + low for a normal x > 0. It is off by less than `bound`,
/// and so are low + bound and low - bound as rounded.
//
// r = c m - 1, |r| <= 0.0298, is r + r_low with the rounding of the product, |r_low| <= 2^-53 and 0 in the cell of 1.
// ln(x) = base + (r - r^2 / 2) + r^3 p(r) + r_low / (1 + r) where base = e ln 2 - ln(c) and r - r^2 / 2 has no error that
// counts. Errors: r^3 p is off by less than 1.1 |r|^3 2^-53 by its rounding, and p by less than 2^-52.8, r_low by |r|^3 2^-53,
// sums of low parts by r^2 2^-58: together below r^2 2.1 2^-57. Where base is not 0, it is not less than 0.037, and the
// error of -ln c counts, at most 2^-65.8 where base is 0.07 and 2^-67.8 in the cells beside that of 1, where it is less:
// below 0x1.8p-62 base. Of a sum, r has x_low too, and in the cell of 1 it is the sum less 1, rounded. The rounding of
// `low`, of which a part may be 2^-53 of `high`, counts as well where |r| < 2^-47: of sums it has a part of `bound`, and of
// doubles not, which are few, and all of these have been compared with the accurate step.
template <bool kSum, class D, class V>
REPDL_LANE V QuickLogOfSum(D d, V x, [[maybe_unused]] V x_low, V& low, V& bound) {
  V e, error, product_low;
  decltype(BitCast(IntTag<D>(), e)) bits;
  const V m = LogFraction(d, x, e, bits);
  const auto cell = ShiftRightLogical<48>(bits);
  const V c = LookUp<16>(d, QuickLogReciprocals(), cell);
  const V product = TwoProd(m, c, product_low);
  V r = Sub(product, Set(d, 1.0));
  if constexpr (kSum) r = FastTwoSum(r, Fma(Mul(x_low, PowerOfTwo(d, Neg(e))), c, product_low), product_low);
  const V square = Mul(r, r);
  V p = Fma(Set(d, 0x1.7553bcb22b763p-4), r, Set(d, -0x1.9a77c53d1c28fp-4));
  p = Fma(p, r, Set(d, 0x1.c71c290303372p-4));
  p = Fma(p, r, Set(d, -0x1.ffffcc720cf6fp-4));
  p = Fma(p, r, Set(d, 0x1.24924929879fep-3));
  p = Fma(p, r, Set(d, -0x1.55555557d336cp-3));
  p = Fma(p, r, Set(d, 0x1.99999999994c7p-3));
  p = Fma(p, r, Set(d, -0x1.ffffffffffeadp-3));
  p = Fma(p, r, Set(d, 0x1.5555555555555p-2));
  const V half = Mul(r, Set(d, -0.5));
  const V near = Fma(half, r, r), near_low = Fma(half, r, Sub(r, near));
  const V base = Fma(e, Set(d, 0x1.62e42fefa3800p-1), LookUp<16>(d, QuickLogs(), cell));
  const V base_low = Fma(e, Set(d, 0x1.ef35793c76730p-45), Fma(Sub(square, r), product_low, product_low));
  const V high = FastTwoSum(base, near, error);
  low = Fma(Mul(square, r), p, Add(Add(error, near_low), base_low));
  bound = Fma(square, Set(d, 0x1.2p-56), Mul(Abs(base), Set(d, 0x1.8p-62)));
  if constexpr (kSum) bound = Fma(Abs(high), Set(d, 0x1p-100), bound);
  return high;
}

template <class D, class V>
REPDL_LANE V QuickLog(D d, V x, V& low, V& bound) {
  return QuickLogOfSum<false>(d, x, Zero(d), low, bound);
}

/// high + low, off by `bound`, as QuickLog gives it, over the logarithm of a base, of which the reciprocal is this.
//
// The roundings of `low` are less than a 16th of `bound` and 2^-100 of the result.
template <class D, class V>
REPDL_LANE V LogToBase(D d, V high, V& low, V& bound, double reciprocal, double reciprocal_low) {
  V error;
  const V c = Set(d, reciprocal), product = TwoProd(high, c, error);
  low = Fma(low, c, Fma(high, Set(d, reciprocal_low), error));
  bound = Fma(bound, Set(d, 1.0625 * reciprocal), Mul(Abs(product), Set(d, 0x1p-100)));
  return product;
}

/// high + low, a logarithm of x that is off by `bound`, rounded; F()(d, x) where that is not certain, or x not normal.
template <class F, class D, class V>
REPDL_LANE V IfCertainLog(D d, V high, V low, V bound, V x) {
  auto certain = And(Ge(x, Set(d, 0x1p-1022)), Lt(x, Inf(d)));
  const V y = RoundedWithin(high, low, bound, certain);
  return IfCertain<F>(d, certain, y, x);
}

/// ln(v 2^more) for v of a moderate exponent. Where `near` is set, v is 1 + t with |t| < 0.005, and t is taken.
template <class D, class V, class M>
REPDL_LANE Pair<V> LogNumber(D d, Pair<V> v, V more, M near, Pair<V> t) {
  V e, product_low;
  decltype(BitCast(IntTag<D>(), e)) bits;
  const V m = LogFraction(d, V(v.high), e, bits), m_low = Mul(V(v.low), PowerOfTwo(d, Neg(e)));
  const auto cell = ShiftRightLogical<46>(bits);
  const V c = LookUp<64>(d, PairLogReciprocals(), cell);
  const V product = TwoProd(m, c, product_low);
  const Pair<V> r = PairOf(Sub(product, Set(d, 1.0)), Fma(m_low, c, product_low));
  return LogSum(d, Add(e, more), cell, Choose(near, t, r));
}

/// The same for triples, by a step of Newton's method.
template <class D, class V, class M>
REPDL_LANE_RARE Triple<V> LogNumber(D d, Triple<V> v, V more, M near, Triple<V> t) {
  V e;
  decltype(BitCast(IntTag<D>(), e)) bits;
  LogFraction(d, V(v.high), e, bits);
  const Triple<V> one = Exactly<Triple<V>>(d, Set(d, 1.0));
  const Triple<V> fraction = Scaled(v, PowerOfTwo(d, Neg(e)));
  e = Add(e, more);
  t = Choose(near, t, Plus(fraction, Negated(one)));
  const Pair<V> short_t = {t.high, t.middle}, sum = Plus(short_t, Pair<V>{Set(d, 1.0), Zero(d)});
  const auto short_near = Lt(Abs(V(t.high)), Set(d, 0x1p-8));
  const V guess = LogNumber(d, sum, Zero(d), short_near, short_t).high;
  // z = (1 + t) e^-guess - 1, and ln(1 + z) = z - z^2 / 2.
  const Triple<V> em1 = Expm1Series(d, Exactly<Triple<V>>(d, Neg(guess)));
  const Triple<V> z = Plus(Plus(t, em1), Times(t, em1));
  const V z_high = z.high;
  const V correction = Mul(Mul(z_high, z_high), Set(d, -0.5));
  const Triple<V> log = Plus(Exactly<Triple<V>>(d, guess), Plus(z, Exactly<Triple<V>>(d, correction)));
  return Plus(Times(Ln2<Triple<V>>(d), e), log);
}

/// ln(x) for a double x, 0 < x < inf.
template <class N, class D, class V>
REPDL_LANE N LogOfDouble(D d, V x) {
  if constexpr (std::is_same_v<N, Pair<V>>) {
    const auto subnormal = Lt(x, Set(d, 0x1p-1022));
    x = IfThenElse(subnormal, Mul(x, Set(d, 0x1p54)), x);
    V e, product_low;
    decltype(BitCast(IntTag<D>(), e)) bits;
    const V m = LogFraction(d, x, e, bits);
    const auto cell = ShiftRightLogical<46>(bits);
    const V product = TwoProd(m, LookUp<64>(d, PairLogReciprocals(), cell), product_low);
    e = Sub(e, IfThenElseZero(subnormal, Set(d, 54.0)));
    return LogSum(d, e, cell, PairOf(Sub(product, Set(d, 1.0)), product_low));
  } else {
    V n;
    const N v = Exactly<N>(d, Moderate(d, x, n));
    return LogNumber(d, v, n, Lt(x, x), v);
  }
}

/// ln(1 + t) for t > -1 of a moderate exponent.
template <class N, class D>
REPDL_LANE N Log1pNumber(D d, N t) {
  const auto zero = Zero(d);
  const N sum = Plus(Exactly<N>(d, Set(d, 1.0)), t);
  return LogNumber(d, sum, zero, Lt(Abs(decltype(zero)(t.high)), Set(d, 0.0048)), t);
}

/// log(1 + e^x) / 2^n = max(x, 0) + log(1 + e^-|x|), where n is not 0 only for large negative x.
template <class N, class D, class V>
REPDL_LANE N Log1pExpOver(D d, V x, V& n) {
  const V zero = Zero(d);
  const auto positive = Gt(x, zero);
  // Beside a large x the logarithm matters only by being positive.
  const V limit = IfThenElse(positive, Set(d, -120.0), Set(d, -800.0));
  const V a = Limit(Neg(Abs(x)), limit, zero);
  const N e = ExpOver(d, Exactly<N>(d, a), n);
  const auto far = Lt(a, Set(d, -120.0));  // log(1 + t) is t
  const N log = Log1pNumber(d, Scaled(e, PowerOfTwo(d, Max(n, Set(d, -300.0)))));
  n = IfThenElseZero(far, n);
  return Plus(Exactly<N>(d, IfThenElseZero(positive, x)), Choose(far, e, log));
}
