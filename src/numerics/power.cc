// SPDX-License-Identifier: MIT
#include "numerics/power.h"

#include "numerics/functions_scalar.h"

namespace repdl {
namespace {

/// An unevaluated sum: |low| is at most half a unit in the last place of high.
struct DoubleDouble {
  double high, low;
};

DoubleDouble FastTwoSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// Dekker's product; the splitting makes it exact without a fused multiply-add.
DoubleDouble TwoProd(double a, double b) {
  const auto split = [](double x) {
    const double t = 134217729.0 * x;  // 2^27 + 1
    const double high = t - (t - x);
    return DoubleDouble{high, x - high};
  };
  const DoubleDouble sa = split(a), sb = split(b);
  const double product = a * b;
  const double error = sa.low * sb.low - (((product - sa.high * sb.high) - sa.low * sb.high) - sa.high * sb.low);
  return {product, error};
}

DoubleDouble Multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = TwoProd(a.high, b.high);
  return FastTwoSum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

}  // namespace

double PowInt(double base, int64_t exponent) {
  DoubleDouble result{1.0, 0.0}, square{base, 0.0};
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = Multiply(result, square);
    square = Multiply(square, square);
  }
  return result.high + result.low;
}

double PowReal(double base, double exponent) {
  const bool is_count =
      exponent >= 0.0 && exponent < 0x1p53 && exponent == static_cast<double>(static_cast<int64_t>(exponent));
  if (is_count && base >= 0.0 && base <= 1.0) return PowInt(base, static_cast<int64_t>(exponent));
  return scalar::PowDouble()(scalar::Tag<double>(), base, exponent);
}

}  // namespace repdl
