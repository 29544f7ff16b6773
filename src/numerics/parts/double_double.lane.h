// SPDX-License-Identifier: MIT
// Numbers of about 106 bits as unevaluated sums high + low of two doubles, |low| <= ulp(high) / 2: for the few
// arguments whose result lies so near a midpoint that one double does not tell the side. Written to be short rather
// than fast. The low part of a result comes back through a reference.

/// (a * b, its rounding error).
template <class V>
REPDL_LANE V TwoProd(V a, V b, V& error) {
  const V product = Mul(a, b);
  error = Fma(a, b, Neg(product));
  return product;
}

template <class V>
REPDL_LANE V AddSlow(V a, V a_low, V b, V b_low, V& low) {
  V error;
  const V sum = TwoSum(a, b, error);
  return FastTwoSum(sum, Add(error, Add(a_low, b_low)), low);
}

template <class V>
REPDL_LANE V MulSlow(V a, V a_low, V b, V b_low, V& low) {
  V error;
  const V product = TwoProd(a, b, error);
  return FastTwoSum(product, Fma(a, b_low, Fma(a_low, b, error)), low);
}

// 1 / n!
REPDL_TABLE(InverseFactorials, double, 30, 0x1p+0, 0x1p+0, 0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5,
            0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16,
            0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29,
            0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41, 0x1.ae7f3e733b81fp-45,
            0x1.952c77030ad4ap-49, 0x1.6827863b97d97p-53, 0x1.2f49b46814157p-57, 0x1.e542ba4020225p-62,
            0x1.71b8ef6dcf572p-66, 0x1.0ce396db7f853p-70, 0x1.761b41316381ap-75, 0x1.f2cf01972f578p-80,
            0x1.3f3ccdd165fa9p-84, 0x1.88e85fc6a4e5ap-89, 0x1.d1ab1c2dccea3p-94, 0x1.0a18a2635085dp-98,
            0x1.259f98b4358adp-103)
REPDL_TABLE(InverseFactorialsLow, double, 30, 0.0, 0.0, 0.0, 0x1.5555555555555p-57, 0x1.5555555555555p-59,
            0x1.1111111111111p-63, -0x1.f49f49f49f49fp-65, 0x1.a01a01a01a01ap-73, 0x1.a01a01a01a01ap-76,
            -0x1.c154f8ddc6c00p-73, 0x1.cbbc05b4fa99ap-76, -0x1.c062e06d1f209p-80, -0x1.2aec959e14c06p-83,
            0x1.f28e0cc748ebep-87, 0x1.05d6f8a2efd1fp-92, 0x1.1d8656b0ee8cbp-97, 0x1.1d8656b0ee8cbp-101,
            0x1.ac981465ddc6cp-103, 0x1.eec01221a8b0bp-107, 0x1.2650f61dbdcb4p-112, 0x1.ea72b4afe3c2fp-120,
            -0x1.d043ae40c4647p-120, -0x1.aebcdbd20331cp-124, -0x1.3423c7d91404fp-130, -0x1.9ada5fcc1ab14p-135,
            -0x1.58ddadf344487p-139, -0x1.71c37ebd16540p-143, 0x1.054d0c78aea14p-149, 0x1.b9e2e28e1aa54p-153,
            0x1.eaf8c39dd9bc5p-157)

/// The sum of x^k / (kFirst + kStep k)! for k < kTerms and |x| < 1; from k = kLong on, a double is enough for the sum.
template <int kFirst, int kStep, int kLong, int kTerms, class D, class V>
REPDL_LANE V FactorialSeries(D d, V x, V x_low, V& low) {
  V sum = Set(d, InverseFactorials()[kFirst + kStep * (kTerms - 1)]);
  for (int k = kTerms - 2; k >= kLong; --k) sum = Fma(sum, x, Set(d, InverseFactorials()[kFirst + kStep * k]));
  low = Zero(d);
  for (int k = kLong - 1; k >= 0; --k) {
    const int n = kFirst + kStep * k;
    V error;
    const V product = MulSlow(sum, low, x, x_low, low);
    sum = FastTwoSum(Set(d, InverseFactorials()[n]), product, error);
    low = Add(error, Add(Set(d, InverseFactorialsLow()[n]), low));
  }
  return sum;
}

/// e^x - 1 for |x| <= 0.7, with a relative error of about 2^-103.
template <class D, class V>
REPDL_LANE V Expm1Slow(D d, V x, V& low) {
  V sum_low;
  const V sum = FactorialSeries<1, 1, 17, 28>(d, x, Zero(d), sum_low);
  return MulSlow(x, Zero(d), sum, sum_low, low);
}

/// ln(1 + t) for -0.3 <= t <= 1 from a guess good to 2^-40, by a step of Newton's method.
template <class D, class V>
REPDL_LANE V Log1pSlow(D d, V t, V t_low, V guess, V& low) {
  V e_low, sum_error, product_error, z_error;
  const V e = Expm1Slow(d, Neg(guess), e_low);
  // z = (1 + t) exp(-guess) - 1 = t + e + t e
  const V sum = TwoSum(t, e, sum_error);
  const V product = TwoProd(t, e, product_error);
  const V z = TwoSum(sum, product, z_error);
  V z_low = Add(Fma(t, e_low, Add(e_low, Fma(t_low, e, t_low))), Add(Add(sum_error, product_error), z_error));
  z_low = Fma(Mul(z, z), Set(d, -0.5), z_low);  // ln(1 + z) = z - z^2 / 2
  return AddSlow(guess, Zero(d), z, z_low, low);
}

/// ln(x) for a float x > 0.
template <class D, class V>
REPDL_LANE V LogSlow(D d, V x, V& low) {
  const IntTag<D> di;
  const auto normalized = Normalized(d, x);
  const V m = NormalizedFraction(d, normalized), shift = Set(d, 0x1.8p52);
  const V e = Sub(BitCast(d, Add(ShiftRightLogical<52>(normalized), BitCast(di, shift))), Set(d, 0x1.8p52 + 1024));
  V log_low, base_low;
  const V log = Log1pSlow(d, Sub(m, Set(d, 1.0)), Zero(d), QuickYLog2(d, Set(d, 0x1.62e42fefa39efp-5), m), log_low);
  const V base = MulSlow(e, Zero(d), Set(d, 0x1.62e42fefa39efp-1), Set(d, 0x1.abc9e3b39803fp-56), base_low);
  return AddSlow(base, base_low, log, log_low, low);
}

/// e^x = `scale` times the result, a power of two and a number of [0.7, 1.42], for |x| <= 700.
template <class D, class V>
REPDL_LANE V ExpSlow(D d, V x, V x_low, V& low, V& scale) {
  const IntTag<D> di;
  const V shift = Set(d, 0x1.8p52), one = Set(d, 1.0);
  const V shifted = Add(Mul(x, Set(d, 0x1.71547652b82fep+0)), shift);
  const V n = Sub(shifted, shift);
  scale = BitCast(d, Add(BitCast(di, one), ShiftLeft<52>(BitCast(di, shifted))));
  // r = x - n ln 2
  V r_low, em1_low;
  const V multiple = MulSlow(Neg(n), Zero(d), Set(d, 0x1.62e42fefa39efp-1), Set(d, 0x1.abc9e3b39803fp-56), r_low);
  const V r = AddSlow(x, x_low, multiple, r_low, r_low);
  const V em1 = Expm1Slow(d, r, em1_low);
  // e^(r + r_low) = e^r + e^r r_low
  return AddSlow(one, Zero(d), em1, Fma(r_low, em1, Add(r_low, em1_low)), low);
}
