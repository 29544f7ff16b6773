// SPDX-License-Identifier: MIT
#include "numerics/root_of_unity.h"

#include <numeric>

#include "numerics/functions_scalar.h"

#define REPDL_ACCURATE_PART inline

namespace repdl {
namespace {

using scalar::Add;
using scalar::And;
using scalar::BitCast;
using scalar::Div;
using scalar::Eq;
using scalar::Fma;
using scalar::Lt;
using scalar::Mul;
using scalar::Neg;
using scalar::Round;
using scalar::RoundToOdd;
using scalar::ShiftLeft;
using scalar::ShiftRightLogical;
using scalar::Sqrt;
using scalar::Sub;
using scalar::Tag;
using scalar::TwoProd;
using scalar::TwoSum;

#include "numerics/accurate/triple_double.lane.h"

/// high + low rounded, if an error of the quick step does not change that; else NaN, which is none of the results.
double RoundedOrNaN(double high, double low) {
  const double error = Mul(high, 0x1p-66);
  const double y = Add(high, Add(low, error));
  return y == Add(high, Sub(low, error)) ? y : __builtin_nan("");
}

/// Of j / n eighths of a turn, 0 <= j <= n.
CosineAndSine OfEighths(int64_t j, int64_t n) {
  if (j == 0) return {1.0, 0.0};
  const Tag<double> d;
  const auto numerator = static_cast<double>(j), denominator = static_cast<double>(n);
  // The quotient and the angle as sums of two doubles, good to about 2^-100.
  const double quotient = Div(numerator, denominator);
  const double rest = Div(Fma(-quotient, denominator, numerator), denominator);
  const double quarter_pi = 0x1.921fb54442d18p-1, quarter_pi_low = 0x1.1a62633145c07p-55;
  double angle_low;
  const double angle = scalar::MulPairs(quotient, rest, quarter_pi, quarter_pi_low, angle_low);
  double sine, sine_low, cosine, cosine_low;
  scalar::SineAndCosinePairs(d, angle, angle_low, sine, sine_low, cosine, cosine_low);
  CosineAndSine result{RoundedOrNaN(cosine, cosine_low), RoundedOrNaN(sine, sine_low)};
  if (scalar::IsNaN(result.cosine) || scalar::IsNaN(result.sine)) {
    const Triple turn = Div({numerator, 0.0, 0.0}, {denominator, 0.0, 0.0});
    const Triple exact = Mul(Mul(turn, 0.25), Set(Constant::kPi));
    Triple exact_sine, exact_cosine;
    SineAndCosine(exact, exact_sine, exact_cosine);
    result = {Rounded(exact_cosine, 0), Rounded(exact_sine, 0)};
  }
  return result;
}

}  // namespace

RootsOfUnity::RootsOfUnity(int64_t n) : n_(n), common_(std::gcd(n, int64_t{8})) {
  first_eighth_.reserve(n / common_ + 1);
  for (int64_t j = 0; j <= n / common_; ++j) first_eighth_.push_back(OfEighths(j * common_, n));
}

CosineAndSine RootsOfUnity::At(int64_t j) const {
  j %= n_;
  const int64_t eighth = 8 * j / n_, within = 8 * j - eighth * n_;
  const auto [cosine, sine] = first_eighth_[(eighth % 2 == 0 ? within : n_ - within) / common_];
  // From 0: the quadrant's own angle, or in its second eighth the angle to its end.
  const bool turned = eighth % 2 != 0;
  const double along = turned ? sine : cosine, across = turned ? cosine : sine;
  switch (eighth / 2) {
    case 0: return {along, across};
    case 1: return {0.0 - across, along};
    case 2: return {0.0 - along, 0.0 - across};
    default: return {across, 0.0 - along};
  }
}

}  // namespace repdl
