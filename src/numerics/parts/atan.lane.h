// SPDX-License-Identifier: MIT
// The arctangent of a quotient, for atan and atan2.

/// atan(y / x) = base + base_low + atan(num / den) with |num / den| <= tan(pi / 8), for y and x that are floats >= 0,
/// not both 0: about y / x = 0, 1 and infinity. num and den are exact.
template <class D, class V>
REPDL_LANE void AtanReduce(D d, V y, V x, V& num, V& den, V& base, V& base_low) {
  const V zero = Zero(d);
  const auto middle = Gt(y, Mul(x, Set(d, 0x1.a827999fcef32p-2)));  // tan(pi / 8)
  const auto high = Gt(y, Mul(x, Set(d, 0x1.3504f333f9de6p+1)));    // tan(3 pi / 8)
  num = IfThenElse(high, Neg(x), IfThenElse(middle, Sub(y, x), y));
  den = IfThenElse(high, y, IfThenElse(middle, Add(y, x), x));
  // pi / 2 and pi / 4 in two parts.
  base = IfThenElse(high, Set(d, 0x1.921fb54442d18p+0), IfThenElse(middle, Set(d, 0x1.921fb54442d18p-1), zero));
  base_low = IfThenElse(high, Set(d, 0x1.1a62633145c07p-54), IfThenElse(middle, Set(d, 0x1.1a62633145c07p-55), zero));
}

/// (atan(t) - t) + low for |t| <= tan(pi / 8), by t^3 p(t^2), p from tools/coefficients, in pairs of terms.
template <class D, class V>
REPDL_LANE V AtanTail(D d, V t, V low) {
  const V z = Mul(t, t);
  const V w = Mul(z, z);
  V p = Set(d, -0x1.25a37b2910f58p-6);
  p = Fma(p, w, Fma(Set(d, 0x1.37f0063106160p-5), z, Set(d, -0x1.9cdd38536d0a0p-5)));
  p = Fma(p, w, Fma(Set(d, 0x1.df11a2c3fbaa6p-5), z, Set(d, -0x1.10ebe195d50fap-4)));
  p = Fma(p, w, Fma(Set(d, 0x1.3b111cbb42350p-4), z, Set(d, -0x1.745cf90fd115cp-4)));
  p = Fma(p, w, Fma(Set(d, 0x1.c71c70e7ca9fdp-4), z, Set(d, -0x1.24924922b1833p-3)));
  p = Fma(p, w, Fma(Set(d, 0x1.99999999958fap-3), z, Set(d, -0x1.555555555553dp-2)));
  return Fma(Mul(t, z), p, low);
}

/// atan(y / x) as a sum of two doubles, with a relative error of about 2^-55; y and x as for AtanReduce.
template <class D, class V>
REPDL_LANE V AtanOfQuotient(D d, V y, V x, V& low) {
  V num, den, base, base_low, error;
  AtanReduce(d, y, x, num, den, base, base_low);
  const V inverse = Div(Set(d, 1.0), den);
  const V t = Mul(num, inverse);
  const V t_low = Mul(Fma(Neg(t), den, num), inverse);  // num / den - t
  const V slope = Fma(Neg(t), t, Set(d, 1.0));          // about 1 / (1 + t^2)
  const V sum = FastTwoSum(base, t, error);             // exact also where base is 0
  low = Add(error, AtanTail(d, t, Fma(t_low, slope, base_low)));
  return sum;
}
