// SPDX-License-Identifier: MIT
// Exponentials of pairs and triples. Constants from tools/coefficients/double_exp_log.py.

// 2^(i / 16) and the rest of it.
REPDL_TABLE(PairPowers, double, 16, 1.0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
            0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
            0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
            0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0)
REPDL_TABLE(PairPowersLow, double, 16, 0.0, 0x1.8a62e4adc610bp-54, -0x1.19041b9d78a76p-55, 0x1.9b07eb6c70573p-54,
            0x1.6f46ad23182e4p-55, 0x1.ada0911f09ebcp-55, 0x1.d4397afec42e2p-56, 0x1.6324c054647adp-54,
            -0x1.bdd3413b26456p-54, -0x1.41577ee04992fp-55, 0x1.6e9f156864b27p-54, 0x1.c7c46b071f2bep-56,
            0x1.7a1cd345dcc81p-54, 0x1.11065895048ddp-55, 0x1.2ed02d75b3707p-55, -0x1.e9c23179c2893p-54)

/// r + r^2 (half + r (third + third_low) + r^2 p), p a double: the first terms of e^r - 1 and of ln(1 + r).
template <class D, class V>
REPDL_LANE Pair<V> ShortSeries(D d, Pair<V> r, double half, double third, double third_low, V p) {
  const V h = r.high, l = r.low;
  V square_low, cubic_low, factor_low, product_low, error;
  const V square = TwoProd(h, h, square_low);
  const V double_h = Add(h, h);
  square_low = Fma(double_h, l, square_low);
  const V cubic = TwoProd(h, Set(d, third), cubic_low);
  cubic_low = Fma(l, Set(d, third), Fma(h, Set(d, third_low), cubic_low));
  const V factor = FastTwoSum(Set(d, half), cubic, factor_low);
  factor_low = Fma(square, p, Add(factor_low, cubic_low));
  const V product = TwoProd(square, factor, product_low);
  product_low = Fma(square, factor_low, Fma(square_low, factor, product_low));
  const V sum = FastTwoSum(h, product, error);
  return PairOf(sum, Add(error, Add(l, product_low)));
}

/// x less (16 n + i) ln(2) / 16 for the nearest such number, with an error below 2^-78; the power is 2^(i / 16).
template <class D, class V>
REPDL_LANE Pair<V> ReducedForExp(D d, Pair<V> x, V& n, Pair<V>& power) {
  const V shift = Set(d, 0x1.8p52);
  const V shifted = Fma(V(x.high), Set(d, 0x1.71547652b82fep+4), shift);
  const V steps = Sub(shifted, shift);
  const auto bits = BitCast(IntTag<D>(), shifted);
  power = {LookUp<16>(d, PairPowers(), bits), LookUp<16>(d, PairPowersLow(), bits)};
  n = Round(Fma(steps, Set(d, 0.0625), Set(d, -0.46875)));  // steps / 16, rounded down
  // The first step is exact. Where it leaves less than the second one, the error is still small enough.
  V product_low, error;
  const V first = Fma(steps, Set(d, -0x1.62e42fefa0000p-5), V(x.high));
  const V product = TwoProd(steps, Set(d, -0x1.cf79abc9e3b3ap-44), product_low);
  const V sum = FastTwoSum(first, product, error);
  return PairOf(sum, Add(error, Add(product_low, V(x.low))));
}

/// e^x / 2^n, in [0.9, 2.1), for |x| <= 1500, with a relative error below 2^-71.
template <class D, class V>
REPDL_LANE Pair<V> ExpOver(D d, Pair<V> x, V& n) {
  Pair<V> power = {Zero(d), Zero(d)};
  const Pair<V> r = ReducedForExp(d, x, n, power);
  const V h = r.high, l = r.low, t = power.high, half = Mul(h, Set(d, 0.5));
  // q = h + h^2 / 2 + h^3 p + l (1 + h + h^2 / 2)
  V square_low, q_low, product_low, error;
  const V square = TwoProd(half, h, square_low), cube = Mul(square, h), square2 = Add(square, square);
  const V p01 = Fma(Set(d, 0x1.5555555555557p-4), h, Set(d, 0x1.5555555555555p-2));
  const V p23 = Fma(Set(d, 0x1.6c16c16ba9878p-9), h, Set(d, 0x1.11111110db9fbp-6));
  const V p45 = Fma(Set(d, 0x1.a01b41d25ffe1p-15), h, Set(d, 0x1.a01b2003b0a09p-12));
  const V p = Fma(Fma(p45, square2, p23), square2, p01);  // 2 p
  const V q = FastTwoSum(h, square, q_low);
  q_low = Add(q_low, Fma(cube, p, Fma(l, q, Add(l, square_low))));
  const V product = TwoProd(t, q, product_low);
  const V sum = FastTwoSum(t, product, error);
  return PairOf(sum, Add(error, Fma(t, q_low, Fma(V(power.low), q, Add(product_low, V(power.low))))));
}

// ln(2^(i / 16)) less that of PairPowers.
REPDL_TABLE(PairPowersRest, double, 16, 0.0, 0x1.79aa65d837b6cp-54, -0x1.01b15eaa59348p-55, 0x1.68efde3a8a894p-54,
            0x1.34d754db0abb6p-55, 0x1.59f48a72a4c6dp-55, 0x1.690cebb7aafb0p-56, 0x1.063e1e21c5409p-54,
            -0x1.3b3efbf5e2229p-54, -0x1.b32dcb94da51dp-56, 0x1.db72fc1f0eab4p-55, 0x1.1affc2b91ce27p-56,
            0x1.c1a7792cb3387p-55, 0x1.36eae30af0cb3p-56, 0x1.4a385a63d07a7p-56, -0x1.ff7128fd391f1p-55)

/// e^x = t 2^n e^(first + rest) with t = PairPowers[i], for the nearest multiple of ln(2) / 16 to x; returns t. `bits` end
/// in 16 n + i.
template <class D, class V, class VI>
REPDL_LANE V NearestPower(D d, V x, V& first, V& rest, VI& bits) {
  const V shift = Set(d, 0x1.8p52);
  const V shifted = Fma(x, Set(d, 0x1.71547652b82fep+4), shift);
  const V steps = Sub(shifted, shift);
  bits = BitCast(IntTag<D>(), shifted);
  first = Fma(steps, Set(d, -0x1.62e42fefa39efp-5), x);
  rest = Fma(steps, Set(d, -0x1.abc9e3b39803fp-60), LookUp<16>(d, PairPowersRest(), bits));
  return LookUp<16>(d, PairPowers(), bits);
}

/// The same of 2^x for |x| <= 1030 and the nearest 16th to x: f = x - n - i / 16 is exact, |f| <= 1 / 32, and first + rest is
/// f ln(2) but for 2^-104.
template <class D, class V, class VI>
REPDL_LANE V NearestPowerOfTwo(D d, V x, V& first, V& rest, VI& bits) {
  const V shift = Set(d, 0x1.8p48), ln2 = Set(d, 0x1.62e42fefa39efp-1);
  const V shifted = Add(x, shift), f = Sub(x, Sub(shifted, shift));
  bits = BitCast(IntTag<D>(), shifted);
  first = Mul(f, ln2);
  const V more = Fma(f, Set(d, 0x1.abc9e3b39803fp-56), LookUp<16>(d, PairPowersRest(), bits));
  rest = Add(Fma(f, ln2, Neg(first)), more);
  return LookUp<16>(d, PairPowers(), bits);
}

/// t e^(first + rest), in [0.97, 2.05), as high + low with |low| < 2^-11 and an error below 1.28 2^-62, for t of PairPowers,
/// which is at most 1.92, |first| < 2^-5.52 and |rest| < 2^-45.
//
// Errors in units of 2^-66, relative to t: of the polynomial 1.8; of the roundings of p, of r^2 and of r 2.0, 2.0 and 2.8,
// each as it counts in r^2 p; of r^2 p + rest 1. Together they are below 9.6 t < 18.4; that of the last step is 2. t - high is
// exact by Sterbenz' lemma.
template <class D, class V>
REPDL_LANE V QuickExpFrom(D d, V t, V first, V rest, V& low) {
  const V r = Add(first, rest);
  V p = Fma(Set(d, 0x1.a01b9f3d1d485p-13), r, Set(d, 0x1.6c18415fba933p-10));
  p = Fma(p, r, Set(d, 0x1.111111107d011p-7));
  p = Fma(p, r, Set(d, 0x1.555555547f86fp-5));
  p = Fma(p, r, Set(d, 0x1.555555555555ap-3));
  p = Fma(p, r, Set(d, 0x1.0000000000004p-1));
  const V high = Fma(t, first, t);
  low = Fma(t, Fma(Mul(r, r), p, rest), Fma(t, first, Sub(t, high)));
  return high;
}

/// e^x / 2^n as high + low, as QuickExpFrom has them, for |x| <= 720; and n 2^52.
template <class D, class V, class VI>
REPDL_LANE V QuickExpOver(D d, V x, V& low, VI& exponent) {
  V first, rest;
  VI bits;
  const V t = NearestPower(d, x, first, rest, bits);
  exponent = ShiftLeft<48>(And(bits, Set(IntTag<D>(), -16)));
  return QuickExpFrom(d, t, first, rest, low);
}

/// The same of 2^x for |x| <= 1030.
template <class D, class V, class VI>
REPDL_LANE V QuickExp2Over(D d, V x, V& low, VI& exponent) {
  V first, rest;
  VI bits;
  const V t = NearestPowerOfTwo(d, x, first, rest, bits);
  exponent = ShiftLeft<48>(And(bits, Set(IntTag<D>(), -16)));
  return QuickExpFrom(d, t, first, rest, low);
}

/// high 2^n, to which `low` is added, both from a Quick function with these arguments, where that is certain to be rounded
/// right, else F()(d, x). Results of |x| <= limit are normal.
template <class F, class D, class V, class VI>
REPDL_LANE V IfCertainExp(D d, V high, V low, VI exponent, double limit, V x) {
  // 1.28 2^-62, and 2^-65 for the rounding of the sums with low.
  const V bound = Set(d, 0x1.8p-62);
  auto certain = Le(Abs(x), Set(d, limit));
  const V y = RoundedWithin(high, low, bound, certain);
  return IfCertain<F>(d, certain, BitCast(d, Add(BitCast(IntTag<D>(), y), exponent)), x);
}

/// e^x = t (1 + near + rest) for |x| <= 700, where t is 2^(n / 16) as a double, |near| < 0.0224 and |rest| < 2^-19.1.
/// `rest` is off by less than 11.1 2^-73; where n is 0, t is 1 and `rest` is off by less than x^2 2^-58.9.
//
// `first` and `r` are as in QuickExpOver, near is first + first^2 / 2 but for its rounding, which is in `rest`. Errors
// in units of 2^-73: of p 2.7 for its roundings, those of r^2 and r^3 1.8 each, of r 3.8, of the sum 1; of the
// polynomial 0.2. Where n is 0, r is x and has no error.
template <class D, class V>
REPDL_LANE V QuickExpNear(D d, V x, V& near, V& rest) {
  const IntTag<D> di;
  V first, second;
  auto bits = Zero(di);
  const V power = NearestPower(d, x, first, second, bits);
  const V t = BitCast(d, Add(BitCast(di, power), ShiftLeft<48>(And(bits, Set(di, -16)))));
  const V r = Add(first, second), square = Mul(r, r), half = Mul(first, Set(d, 0.5));
  V p = Fma(Set(d, 0x1.a01b5970b95e8p-16), r, Set(d, 0x1.a01b6ddd9ae4fp-13));
  p = Fma(p, r, Set(d, 0x1.6c16c16b9552fp-10));
  p = Fma(p, r, Set(d, 0x1.11111110a194ap-7));
  p = Fma(p, r, Set(d, 0x1.5555555555557p-5));
  p = Fma(p, r, Set(d, 0x1.5555555555558p-3));
  near = Fma(half, first, first);
  const V near_low = Fma(half, first, Sub(first, near));
  rest = Fma(Mul(square, r), p, Add(near_low, Fma(second, first, second)));
  return t;
}

/// e^x as a sum of two doubles for |x| <= 700, with a relative error below 2^-69.
template <class D, class V>
REPDL_LANE Pair<V> QuickExp(D d, V x) {
  V near, rest;
  const V t = QuickExpNear(d, x, near, rest);
  const V high = Fma(t, near, t);
  return PairOf(high, Fma(t, rest, Fma(t, near, Sub(t, high))));
}

/// e^x - 1 for |x| <= 700, with a relative error below 2^-63.6.
//
// For t = 1, |x| < 0.0218, it is near + rest. Else its magnitude is at least 0.0209 t for x > 0 and 0.0214 for x < 0,
// where t <= 0.958, and t rest + low, as rounded, is off by less than 12.9 2^-73 t. base - high is exact, and so is t - 1
// for 1/2 <= t <= 2^53: kExactBase says that no other t counts.
template <bool kExactBase, class D, class V>
REPDL_LANE Pair<V> QuickExpm1(D d, V x) {
  V near, rest, base_low;
  const V minus_one = Set(d, -1.0), t = QuickExpNear(d, x, near, rest);
  V base = Zero(d);
  if constexpr (kExactBase) {
    base = Add(t, minus_one);
  } else {
    base = TwoSum(t, minus_one, base_low);
  }
  const V high = Fma(t, near, base);
  V low = Fma(t, near, Sub(base, high));
  if constexpr (!kExactBase) low = Add(low, base_low);
  return PairOf(high, Fma(t, rest, low));
}

/// (e^x - 1) / 2^n, of any magnitude below 2, for -50 <= x <= 1500.
template <class D, class V>
REPDL_LANE Pair<V> Expm1Over(D d, Pair<V> x, V& n) {
  Pair<V> power = {Zero(d), Zero(d)};
  const Pair<V> r = ReducedForExp(d, x, n, power);
  const V h = r.high, square = Mul(h, h);
  const V p01 = Fma(Set(d, 0x1.1111111111112p-7), h, Set(d, 0x1.5555555555556p-5));
  const V p23 = Fma(Set(d, 0x1.a01a019fbbe1fp-13), h, Set(d, 0x1.6c16c16bbd904p-10));
  const V p45 = Fma(Set(d, 0x1.71df345f1f855p-19), h, Set(d, 0x1.a01b250588e93p-16));
  const V p = Fma(Fma(p45, square, p23), square, p01);
  const Pair<V> q = ShortSeries(d, r, 0.5, 0x1.5555555555555p-3, 0x1.5555555555555p-57, p);
  V error;
  const V base = TwoSum(V(power.high), Neg(PowerOfTwo(d, Neg(Min(n, Set(d, 300.0))))), error);
  const Pair<V> rest = Times(power, q);
  V sum_error;
  const V sum = FastTwoSum(base, V(rest.high), sum_error);  // base is 0 or the larger one
  return PairOf(sum, Add(sum_error, Add(V(rest.low), Add(error, V(power.low)))));
}

// 1 / k! beyond InverseFactorialsLow.
REPDL_TABLE(InverseFactorialsLowest, double, 22, 0.0, 0.0, 0.0, 0x1.5555555555555p-111, 0x1.5555555555555p-113,
            0x1.1111111111111p-119, -0x1.27d27d27d27d2p-119, 0x1.a01a01a01a01ap-133, 0x1.a01a01a01a01ap-136,
            0x1.71de3a556c734p-127, -0x1.c6d278883e8f5p-132, 0x1.c7880adcbc46ep-136, 0x1.2fb0073dd2d9ep-139,
            -0x1.7b2c4c8a840bcp-141, 0x1.3aa3346236a5dp-147, -0x1.6e142a138f825p-157, -0x1.6e142a138f825p-161,
            -0x1.588b72e53bc5fp-165, -0x1.568798662118bp-161, -0x1.69502917cbf3bp-166, -0x1.44020dfd65c8cp-174,
            0x1.486121e81d5fep-176)

/// e^r - 1 for |r| <= 0.37, with a relative error of about 2^-150.
template <class D, class V>
REPDL_LANE_RARE Triple<V> Expm1Series(D d, Triple<V> r) {
  const V h = r.high;
  V tail = Set(d, InverseFactorials()[29]);
  for (int k = 28; k > 21; --k) tail = Fma(tail, h, Set(d, InverseFactorials()[k]));
  Triple<V> sum = Exactly<Triple<V>>(d, tail);
  for (int k = 21; k > 0; --k) {
    sum = Plus(Times(sum, r),
               Constant<Triple<V>>(d, InverseFactorials()[k], InverseFactorialsLow()[k], InverseFactorialsLowest()[k]));
  }
  return Times(sum, r);
}

/// ln 2.
template <class N, class D>
REPDL_LANE N Ln2(D d) {
  return Constant<N>(d, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111);
}

/// e^x = 2^n (1 + the result), which is at most 0.42.
template <class D, class V>
REPDL_LANE Triple<V> ReducedExpm1(D d, Triple<V> x, V& n) {
  n = Round(Mul(V(x.high), Set(d, 0x1.71547652b82fep+0)));
  return Expm1Series(d, Plus(x, Times(Ln2<Triple<V>>(d), Neg(n))));
}
template <class D, class V>
REPDL_LANE Triple<V> ExpOver(D d, Triple<V> x, V& n) {
  return Plus(Exactly<Triple<V>>(d, Set(d, 1.0)), ReducedExpm1(d, x, n));
}
template <class D, class V>
REPDL_LANE Triple<V> Expm1Over(D d, Triple<V> x, V& n) {
  const Triple<V> q = ReducedExpm1(d, x, n);
  V error;
  const V base = TwoSum(Set(d, 1.0), Neg(PowerOfTwo(d, Neg(Min(n, Set(d, 300.0))))), error);
  return Plus(Triple<V>{base, error, Zero(d)}, q);
}

/// e^x - 1 for -50 <= x <= 100.
template <class N, class D>
REPDL_LANE N Expm1Number(D d, N x) {
  auto n = Zero(d);
  const N y = Expm1Over(d, x, n);
  return Scaled(y, PowerOfTwo(d, n));
}
