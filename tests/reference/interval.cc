// SPDX-License-Identifier: MIT
#include "interval.h"

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace repdl::reference {
namespace {

constexpr int kPoints = PiecePolynomial::kCoefficients;
/// Smaller intervals are left to MPFR.
constexpr int kSmallest = 10;

struct Number {
  explicit Number(mpfr_prec_t precision = kIntervalPrecision) { mpfr_init2(value, precision); }
  ~Number() { mpfr_clear(value); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  mpfr_t value;
};

/// Chebyshev's points in [-1, 1], as doubles, and the coefficients of the polynomials that are 1 at one of them and 0 at the
/// others.
struct Points {
  Points() {
    for (int i = 0; i < kPoints; ++i) at[i] = std::cos(std::numbers::pi * (2 * i + 1) / (2 * kPoints));
    Number step;
    for (int i = 0; i < kPoints; ++i) {
      Number* c = coefficients[i];
      mpfr_set_ui(c[0].value, 1, MPFR_RNDN);
      for (int k = 1; k < kPoints; ++k) mpfr_set_zero(c[k].value, 1);
      for (int j = 0; j < kPoints; ++j) {
        if (j == i) continue;
        mpfr_set_d(step.value, at[i], MPFR_RNDN);
        mpfr_sub_d(step.value, step.value, at[j], MPFR_RNDN);  // exact
        for (int k = kPoints - 1; k >= 0; --k) {               // times (u - at[j]) / (at[i] - at[j])
          mpfr_mul_d(c[k].value, c[k].value, -at[j], MPFR_RNDN);
          if (k > 0) mpfr_add(c[k].value, c[k].value, c[k - 1].value, MPFR_RNDN);
          mpfr_div(c[k].value, c[k].value, step.value, MPFR_RNDN);
        }
      }
    }
  }

  double at[kPoints];
  Number coefficients[kPoints][kPoints];
};

/// By how many bits an argument is to be smaller, for its `power` to be as many bits smaller as `size` is above `limit`.
int BitsAbove(double size, double limit, int power) {
  return size <= limit ? 0 : static_cast<int>(std::ceil(std::log2(size / limit) / power));
}

}  // namespace

Interval::Interval(const Function& function, const Operands& around, Random& random)
    : function_(function), operands_(around) {
  // Formulas need more bits for smaller numbers; see Rounded.
  const auto moderate = [](double v) { return v == 0 || std::fabs(v) > 0x1p-100; };
  const bool possible = !function.is_formula || (moderate(operands_.x) && moderate(operands_.y));
  for (int size = operands_.size; possible && size >= kSmallest && !is_flat_;) {
    Take(size);
    const int shrinkage = Fit();
    if (shrinkage == 0 && IsGood(random)) {
      has_polynomial_ = true;
      return;
    }
    size -= std::max(shrinkage, 1);
  }
  Take(std::max(operands_.size, kSmallest));
  error_ = 0;
}

void Interval::Take(int size) {
  const auto varied = std::bit_cast<uint64_t>(operands_.second_varies ? operands_.y : operands_.x);
  polynomial_.size = size;
  polynomial_.first = varied >> size << size;
}

bool Interval::IsGood(Random& random) {
  uint64_t positions[4] = {0, (uint64_t{1} << polynomial_.size) - 1};
  DrawPositions(random.Next(), polynomial_.size, 2, positions + 2);
  error_ = 0;
  for (const uint64_t position : positions) {
    const double error = ErrorAt(std::bit_cast<double>(polynomial_.first + position));
    if (!(error <= kMeasuredBound)) return false;
    error_ = std::max(error_, error);
  }
  return true;
}

int64_t Interval::Worth(int64_t most) const {
  if (!has_polynomial_) return std::max<int64_t>(1, most / 64);
  if (is_flat_) return std::max<int64_t>(1, most / 16);
  return std::min(most, int64_t{1} << polynomial_.size);
}

void Interval::Exact(mpfr_ptr value, mpfr_srcptr varied) const {
  Number held(53);
  mpfr_set_d(held.value, operands_.second_varies ? operands_.x : operands_.y, MPFR_RNDN);
  if (operands_.second_varies) {
    function_.exact(value, held.value, varied);
  } else {
    function_.exact(value, varied, held.value);
  }
}

int Interval::Fit() {
  static const Points points;
  PiecePolynomial& p = polynomial_;
  const uint64_t middle = p.first + (uint64_t{1} << (p.size - 1));
  const auto centre = std::bit_cast<double>(middle);
  const int binade = std::max(1, static_cast<int>(middle >> 52 & 0x7ff));
  Number values[kPoints], varied, coefficients[kPoints];
  int irregular = 0, negative = 0;
  for (int i = 0; i < kPoints; ++i) {
    mpfr_set_d(varied.value, std::copysign(1.0, centre) * points.at[i], MPFR_RNDN);
    mpfr_mul_2si(varied.value, varied.value, binade - 1075 + p.size - 1, MPFR_RNDN);
    mpfr_add_d(varied.value, varied.value, centre, MPFR_RNDN);  // exact
    Exact(values[i].value, varied.value);
    if (mpfr_regular_p(values[i].value) == 0) {
      ++irregular;
    } else if (mpfr_signbit(values[i].value) != 0) {
      ++negative;
    }
  }
  is_flat_ = irregular == kPoints;
  if (irregular != 0) return 4;
  if (negative != 0 && negative != kPoints) return 1;
  for (int k = 0; k < kPoints; ++k) {
    mpfr_set_zero(coefficients[k].value, 1);
    for (int i = 0; i < kPoints; ++i) {
      mpfr_fma(coefficients[k].value, points.coefficients[i][k].value, values[i].value, coefficients[k].value,
               MPFR_RNDN);
    }
  }
  if (mpfr_regular_p(coefficients[0].value) == 0) return 1;
  const mpfr_exp_t exponent = mpfr_get_exp(coefficients[0].value);
  p.exponent = exponent;
  for (int k = 0; k < kPoints; ++k) {
    mpfr_ptr c = coefficients[k].value;
    mpfr_mul_2si(c, c, -exponent, MPFR_RNDN);
    p.high[k] = mpfr_get_d(c, MPFR_RNDN);
    mpfr_sub_d(c, c, p.high[k], MPFR_RNDN);
    if (k < PiecePolynomial::kPairs) p.low[k] = mpfr_get_d(c, MPFR_RNDN);
  }
  return Shrinkage();
}

int Interval::Shrinkage() {
  PiecePolynomial& p = polynomial_;
  double sizes[kPoints + 1] = {};  // of the terms from k on
  for (int k = kPoints - 1; k >= 0; --k) sizes[k] = sizes[k + 1] + std::fabs(p.high[k]);
  const double constant = std::fabs(p.high[0]), largest = constant + sizes[1], smallest = constant - sizes[1];
  int bits = BitsAbove(sizes[1], constant / 3, 1);
  // What doubles lose of the upper terms; and what terms that there are not would add, if they went on so.
  bits = std::max(bits, BitsAbove(sizes[PiecePolynomial::kPairs], 0x1p-45, PiecePolynomial::kPairs));
  bits = std::max(bits, BitsAbove(sizes[kPoints - 2], 0x1p-75, kPoints - 2));
  if (bits > 0) return bits;
  const auto exponent = static_cast<int>(std::clamp<int64_t>(p.exponent, -100000, 100000));
  p.subnormal = std::ldexp(largest, exponent + 1022) < 1;
  if (!p.subnormal && std::ldexp(smallest, exponent + 1022) < 1) return 1;
  is_flat_ = sizes[1] < 0x1p-56 || exponent > 1025 || exponent < -1075;
  return 0;
}

void Interval::Draw(int64_t n, uint64_t seed, std::vector<double>& x, std::vector<double>& y) const {
  std::vector<uint64_t> positions(n);
  DrawPositions(seed, polynomial_.size, n, positions.data());
  x.assign(n, operands_.x);
  y.assign(n, operands_.y);
  std::vector<double>& varied = operands_.second_varies ? y : x;
  for (int64_t i = 0; i < n; ++i) varied[i] = std::bit_cast<double>(polynomial_.first + positions[i]);
}

int64_t Interval::Results(const std::vector<double>& x, const std::vector<double>& y, double test_bound,
                          std::vector<double>& results) const {
  constexpr int64_t kBlock = 512;
  const auto n = static_cast<int64_t>(x.size());
  const std::vector<double>& varied = operands_.second_varies ? y : x;
  results.resize(n);
  int64_t asked = 0;
  uint64_t positions[kBlock], undecided[kBlock];
  double high[kBlock], low[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    int64_t left = count;
    if (has_polynomial_) {
      for (int64_t i = 0; i < count; ++i) {
        positions[i] = std::bit_cast<uint64_t>(varied[begin + i]) - polynomial_.first;
      }
      PairsAt(polynomial_, positions, count, high, low);
      left = RoundPairs(polynomial_, high, low, count, test_bound, &results[begin], undecided);
    } else {
      std::fill_n(undecided, count, 1);
    }
    asked += left;
    for (int64_t i = 0; i < count && left > 0; ++i) {
      if (undecided[i] != 0) results[begin + i] = Rounded(function_, x[begin + i], y[begin + i]);
    }
  }
  return asked;
}

double Interval::ErrorAt(double varied) const {
  const uint64_t position = std::bit_cast<uint64_t>(varied) - polynomial_.first;
  double high, low;
  PairsAt(polynomial_, &position, 1, &high, &low);
  Number operand(53), value;
  mpfr_set_d(operand.value, varied, MPFR_RNDN);
  Exact(value.value, operand.value);
  mpfr_mul_2si(value.value, value.value, -polynomial_.exponent, MPFR_RNDN);
  mpfr_sub_d(value.value, value.value, high, MPFR_RNDN);
  mpfr_sub_d(value.value, value.value, low, MPFR_RNDN);
  return std::fabs(mpfr_get_d(value.value, MPFR_RNDN));
}

}  // namespace repdl::reference
