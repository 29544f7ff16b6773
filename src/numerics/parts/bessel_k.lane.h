// SPDX-License-Identifier: MIT
// The quick step of the modified Bessel functions of the second kind, of orders 0 and 1, for doubles: sums of two
// doubles. Constants from tools/coefficients/bessel.py.

// (H(k) + H(k + order)) / 2 / (k! (k + order)!), H being the harmonic numbers.
REPDL_TABLE(BesideLogarithm0, double, 28, 0.0, 0x1.0000000000000p+0, 0x1.8000000000000p-2, 0x1.a12f684bda12fp-5,
            0x1.da12f684bda13p-9, 0x1.4c88d634a424bp-13, 0x1.3d2970bdbb137p-18, 0x1.b6682a64d5cf7p-24,
            0x1.cb8acea43b17dp-30, 0x1.79f068734aa1bp-36, 0x1.f4dcc2465f674p-43, 0x1.1124367d45fb2p-49,
            0x1.f2fc07de40da8p-57, 0x1.834c1a3ba6611p-64, 0x1.029c1e1d6d16ep-71, 0x1.2c45f8adf02aep-79,
            0x1.31edd818046ddp-87, 0x1.13b613b541933p-95, 0x1.babaa74fb052bp-104, 0x1.3eaf6d59b5219p-112,
            0x1.9daa860d8ecaep-121, 0x1.e69f435d945afp-130, 0x1.0498a76dd0dbbp-138, 0x1.fe62cb94aee41p-148,
            0x1.cabd09747cf02p-157, 0x1.7bc78bebf7d14p-166, 0x1.228af6ac34087p-175, 0x1.9c095e4aa465dp-185)
REPDL_TABLE(BesideLogarithm0Low, double, 16, 0.0, 0.0, 0.0, 0x1.a12f684bda12fp-59, -0x1.2f684bda12f68p-66,
            0x1.96433469e3a1ap-67, 0x1.7fe95877f272ap-74, -0x1.3dc3cdbf9c605p-78, 0x1.2c37573b07cf4p-84,
            0x1.4ab9d8492f53cp-92, 0x1.c6035c2126325p-99, 0x1.6c72bc544a385p-105, -0x1.013bc9cd98e22p-116,
            0x1.6ce894b7835cep-118, 0x1.5768bafc915dep-125, -0x1.934b654d1d706p-133)
REPDL_TABLE(BesideLogarithm1, double, 28, 0x1.0000000000000p-1, 0x1.4000000000000p-1, 0x1.1c71c71c71c72p-3,
            0x1.bda12f684bda1p-7, 0x1.8d76b54932710p-11, 0x1.cb8fa35c0f11cp-16, 0x1.7509d2f888715p-21,
            0x1.c0f97c848873ap-27, 0x1.a0d4ebed66059p-33, 0x1.33b1f34a8210fp-39, 0x1.71eaa07871598p-46,
            0x1.7136a746dc4ebp-53, 0x1.36df8a9dd9648p-60, 0x1.bf98a95743194p-68, 0x1.16ada96e0706bp-75,
            0x1.2f19e862fa4c5p-83, 0x1.22702f384cebcp-91, 0x1.ee1c9dda62cddp-100, 0x1.77a1b2bdf993dp-108,
            0x1.00bea8d4eb79ap-116, 0x1.3d428d8d95be3p-125, 0x1.641d0b9a9e43cp-134, 0x1.6cb44ead7a943p-143,
            0x1.5627d21293d0cp-152, 0x1.2725ccb8f89fbp-161, 0x1.d5c6c85f9678ep-171, 0x1.5a0060079c309p-180,
            0x1.d90f51061d377p-190)
REPDL_TABLE(BesideLogarithm1Low, double, 16, 0.0, 0.0, -0x1.c71c71c71c71cp-58, 0x1.7b425ed097b42p-62,
            0x1.3b8b302a7a1f2p-65, -0x1.a92cc722eac97p-70, -0x1.cb08e684faec1p-75, -0x1.18c7684949115p-86,
            -0x1.36ba9a5f07350p-87, 0x1.def8301ad5447p-95, -0x1.bafee22a22ae2p-100, 0x1.cdd0b5851ca08p-110,
            0x1.1e1410a130d1bp-114, -0x1.954899b0fee1ep-122, 0x1.4103b2151c425p-130, 0x1.a438256011aa6p-138)

// sqrt(2 x / pi) exp(x) K(x) as polynomials in 1 / x - 11/32, for x from 2 to 16/3, and in 1 / x - 3/32.
REPDL_TABLE(K0Far, double, 52, 0x1.ed38b1ae85df6p-1, -0x1.7ad8d5c0de720p-4, 0x1.0c57a3bebf104p-5, -0x1.2c6d7b1a74261p-6,
            0x1.b1458a3cc19d1p-7, -0x1.70d83735d8a79p-7, 0x1.61ce1eabb0e6fp-7, -0x1.73b789baa4ed2p-7,
            0x1.a3d03b41ff7f9p-7, -0x1.f708eb1a2c52ap-7, 0x1.3cb0ccbbeb8b1p-6, -0x1.9ff94565bf75fp-6,
            0x1.1b610136b63a2p-5, -0x1.8eb169a99fda6p-5, 0x1.208db8cfa53bdp-4, -0x1.ac6e09b25121cp-4,
            0x1.456fab2bccff0p-3, -0x1.f8be1fff1e07cp-3, 0x1.8e5c76c3d7324p-2, -0x1.40480da7af616p-1,
            0x1.0abb70a9ac338p+0, -0x1.bafe4636844b8p+0, 0x1.36c6ba2a0bf37p+1, -0x1.062f6dc1128c4p+2,
            0x1.bd4d5f7e4ea72p+3, -0x1.8829ce0a20fbbp+4, 0x1.fa4a0cc13ec52p-1, -0x1.d0ad9b3f5e352p-4,
            0x1.bc4b98f2046bcp-5, -0x1.6ef3d7bc3a1e1p-5, 0x1.a226770d2755fp-5, -0x1.293351f184e87p-4,
            0x1.f23276229eb01p-4, -0x1.db44b3210be56p-3, 0x1.f7bdf1be94d5ap-2, -0x1.237f4ff6fe4bbp+0,
            0x1.6b99c9e9cc936p+1, -0x1.e3eca386364edp+2, 0x1.54e0d050fe3d8p+4, -0x1.f90f43255714ep+5,
            0x1.875a4f3c781cep+7, -0x1.3bdc3528ec9dbp+9, 0x1.097081890ac53p+11, -0x1.cc4b95d546b12p+12,
            0x1.898ebc2cbcf5dp+14, -0x1.666bbdda2e255p+16, 0x1.c6470b032293fp+18, -0x1.c7515a306dc97p+20,
            -0x1.4225c31e619d9p+19, 0x1.4fa108f8f46c5p+22, 0x1.18d54cd4e4673p+28, -0x1.341b6369a0cb9p+30)
REPDL_TABLE(K0FarLow, double, 8, -0x1.57c8d4af96ce7p-55, 0x1.1dd1a36a811f6p-65, -0x1.ee80a9055352cp-59,
            0x1.87a01f0b70497p-60, 0x1.b03c27509517ap-56, -0x1.6dc68a0a49d70p-60, -0x1.dfe1af792505bp-59,
            -0x1.21c12d1ca84fdp-59)
REPDL_TABLE(K1Far, double, 52, 0x1.1e32f62821cc5p+0, 0x1.450b3d1830fd4p-2, -0x1.fa5b33ea9d0efp-5, 0x1.d86907bb8767bp-6,
            -0x1.36d6b118bafbbp-6, 0x1.f46bf253ee8b1p-7, -0x1.ce0c755edc765p-7, 0x1.d81843276bdb0p-7,
            -0x1.04f33cd112d11p-6, 0x1.336914abf9d08p-6, -0x1.7dbaee2e3c311p-6, 0x1.efa0438c1c6c2p-6,
            -0x1.4e55631af888ap-5, 0x1.d2685379a19b5p-5, -0x1.4f1262aefc529p-4, 0x1.ee42d2b9d5e78p-4,
            -0x1.7544786d31966p-3, 0x1.1ff6118921844p-2, -0x1.c46cf9cec5bbep-2, 0x1.6a3396c20fc75p-1,
            -0x1.2c5b635742dd9p+0, 0x1.f10ee6572c7a5p+0, -0x1.5c74878f99cc0p+1, 0x1.251380f8976fep+2,
            -0x1.edfc170eded29p+3, 0x1.b1f168a6c40b3p+4, 0x1.08c16a4351f1fp+0, 0x1.6bde645eb8d54p-2,
            -0x1.81fd211b196f4p-4, 0x1.0b6ff4acc9f37p-4, -0x1.178babed71759p-4, 0x1.795a5e7d28541p-4,
            -0x1.3187cf13d88f1p-3, 0x1.1c524fa656a2ep-2, -0x1.27c29232f03d6p-1, 0x1.514d8bddef854p+0,
            -0x1.9fc99da853983p+1, 0x1.12011f786162ap+3, -0x1.7edeaacfb2e9ap+4, 0x1.19a9d575025f4p+6,
            -0x1.b1e0eea087604p+7, 0x1.5c57b2ef15cf7p+9, -0x1.235913b1f5925p+11, 0x1.f721317c46644p+12,
            -0x1.ad0d5d57eedc2p+14, 0x1.85806298ca1fap+16, -0x1.e9cffe26a5c66p+18, 0x1.e97d80a13d5f3p+20,
            0x1.34d5cd9f378c6p+19, -0x1.547390ca3cde2p+22, -0x1.2ba1823cfc64ap+28, 0x1.4820b1c1147edp+30)
REPDL_TABLE(K1FarLow, double, 8, -0x1.b6b73de6a9a10p-58, 0x1.d3a53cdaa5ac8p-56, 0x1.6cbdebe1de1a1p-61,
            -0x1.d88a173ea79fbp-63, 0x1.0bcb886f3fe6ep-56, -0x1.5626e25abd8cfp-56, -0x1.3afecbe5cf276p-59,
            0x1.8d81044ec6f5cp-60)

/// log(x / 2) + gamma, Euler's constant, for x > 0.
template <class D, class V>
REPDL_LANE Pair<V> BesselLogarithm(D d, V x) {
  const Pair<V> constant = {Set(d, -0x1.dadb014541eb2p-4), Set(d, -0x1.be095d05c0a81p-62)};
  return Plus(LogOfDouble<Pair<V>>(d, x), constant);
}

/// From here on K is a polynomial in 1 / x times its exponential.
constexpr double kFarK = 2.0;

/// K(x) of x > 0, or with kScaled exp(x) K(x), is the result times 2^n, off by less than `error`. Below 2 by the power
/// series of K and I, which hardly cancel there; then by polynomials in 1 / x for sqrt(2 x / pi) exp(x) K(x).
template <int kOrder, bool kScaled, class D, class V>
REPDL_LANE_RARE Pair<V> ModifiedBesselKPair(D d, V x, V& n, V& error) {
  const V zero = Zero(d), bound = Set(d, 0x1p-66), limit = Set(d, kFarK);
  const auto near = Lt(x, limit);
  const V small = Min(x, limit), large = Max(x, limit), half = Mul(small, Set(d, 0.5));
  V square_low;
  const V square = TwoProd(half, half, square_low);
  const Pair<V> z = {square, square_low};
  const Pair<V> first =
      SeriesPair<6, 15>(d, kOrder == 0 ? I0Powers() : I1Powers(), kOrder == 0 ? I0PowersLow() : I1PowersLow(), z);
  const Pair<V> beside = SeriesPair<6, 15>(d, kOrder == 0 ? BesideLogarithm0() : BesideLogarithm1(),
                                           kOrder == 0 ? BesideLogarithm0Low() : BesideLogarithm1Low(), z);
  const Pair<V> product = Times(BesselLogarithm(d, small), first);
  Pair<V> low = Plus(beside, Negated(product));
  V size = Add(V(beside.high), Abs(V(product.high)));
  if constexpr (kOrder == 1) {
    const Pair<V> inverse = InversePair(d, small);
    low = Plus(inverse, Negated(Times(low, half)));
    size = Add(V(inverse.high), size);
  }
  error = Mul(size, bound);
  // of exp(-x), or exp(x) where the series does not have it
  const V exponent = kScaled ? small : IfThenElseZero(Not(near), Neg(x));
  Pair<V> e = ExpOver(d, Pair<V>{exponent, zero}, n);
  if constexpr (kScaled) {
    e = Scaled(e, PowerOfTwo(d, n));
    low = Times(low, e);
    error = Mul(error, V(e.high));
    n = zero;
  }
  if (!Any(d, Not(near))) return low;

  const Pair<V> inverse = InversePair(d, large);
  const auto farther = Le(V(inverse.high), Set(d, 0.1875));
  const Pair<V> t = Shifted(inverse, IfThenElse(farther, Set(d, -0.09375), Set(d, -0.34375)));
  const Pair<V> sum =
      FarSeries<4, 26>(d, kOrder == 0 ? K0Far() : K1Far(), kOrder == 0 ? K0FarLow() : K1FarLow(), farther, t);
  const Pair<V> root_half_pi = {Set(d, 0x1.40d931ff62706p+0), Set(d, -0x1.a6a0d6f814637p-54)};
  Pair<V> high = Over(Times(sum, root_half_pi), Root(Pair<V>{large, zero}));
  if constexpr (!kScaled) high = Times(high, e);
  error = IfThenElse(near, error, Mul(V(high.high), bound));
  return Choose(near, low, high);
}

/// K(x) of doubles. The accurate step has the smallest numbers, and those for which K is nearly subnormal.
template <int kOrder, bool kScaled, class D, class V, class F>
REPDL_LANE V ModifiedBesselKOf(D d, V x, F accurate_step) {
  const V y = Limit(x, Set(d, 0x1p-500), Set(d, kScaled ? 0x1p500 : 600.0));
  V n = Zero(d), error;
  const Pair<V> unscaled = ModifiedBesselKPair<kOrder, kScaled>(d, y, n, error);
  const V scale = PowerOfTwo(d, n);
  const Pair<V> result = Scaled(unscaled, scale);
  return RoundOr(d, Eq(x, y), V(result.high), V(result.low), Mul(error, scale), accurate_step, x);
}

/// The same, to be rounded to a float.
template <int kOrder, bool kScaled, class D, class V>
REPDL_LANE V ModifiedBesselKWide(D d, V x) {
  const V infinity = Inf(d), zero = Zero(d);
  V n = zero, error;
  const V y = Limit(x, Set(d, 0x1p-200), Set(d, kScaled ? 0x1p200 : 200.0));
  const Pair<V> unscaled = ModifiedBesselKPair<kOrder, kScaled>(d, y, n, error);
  const Pair<V> result = Scaled(unscaled, PowerOfTwo(d, n));
  V rounded = RoundToOdd(V(result.high), V(result.low));
  rounded = IfThenElse(Eq(x, infinity), zero, rounded);
  rounded = IfThenElse(Eq(x, zero), infinity, rounded);
  return IfThenElse(Ge(x, zero), rounded, Sub(infinity, infinity));
}
