// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "functions.h"
#include "interval_values.h"
#include "random.h"

namespace repdl::reference {

/// The operands of a function; one of them varies over an interval around the number that stands here, of no more than
/// 2^size doubles.
struct Operands {
  static constexpr int kWidest = 40;  // a binade has 2^12 intervals of this size

  double x = 0, y = 0;
  bool second_varies = false;
  int size = kWidest;
};

/// A function on 2^size consecutive doubles: a polynomial through its values at eight points, which MPFR gives with
/// kIntervalPrecision bits. It is as good as kMeasuredBound says at both ends and at two random doubles of the interval, or
/// a narrower interval is taken. So MPFR is asked a few times for thousands of correctly rounded results.
class Interval {
 public:
  Interval(const Function& function, const Operands& around, Random& random);

  /// Whether there is a polynomial. There is none where results are NaN, infinite or 0, where they change their sign, or
  /// where the function is as wild as its operands are far apart; MPFR gives these results one by one.
  bool has_polynomial() const { return has_polynomial_; }
  /// How many inputs are worth to be tried, of `most`: few where MPFR gives the results or where they are all alike.
  int64_t Worth(int64_t most) const;

  /// n random inputs.
  void Draw(int64_t n, uint64_t seed, std::vector<double>& x, std::vector<double>& y) const;
  /// Their correctly rounded results. Returns how many of them MPFR gave.
  int64_t Results(const std::vector<double>& x, const std::vector<double>& y, double test_bound,
                  std::vector<double>& results) const;

  /// How far the polynomial was from MPFR at the points where they were compared, as kMeasuredBound is meant.
  double error() const { return error_; }
  /// The same at an input.
  double ErrorAt(double x, double y) const { return ErrorAt(operands_.second_varies ? y : x); }

 private:
  /// The interval of 2^size doubles around the operands.
  void Take(int size);
  /// Makes the polynomial. Returns by how many bits the interval should be smaller for it, 0 if it is good.
  int Fit();
  int Shrinkage();
  /// Compares it at both ends and at two other doubles.
  bool IsGood(Random& random);
  double ErrorAt(double varied) const;
  /// f where the operand that varies is this one.
  void Exact(mpfr_ptr value, mpfr_srcptr varied) const;

  const Function& function_;
  Operands operands_;
  PiecePolynomial polynomial_;
  bool has_polynomial_ = false, is_flat_ = false;
  double error_ = 0;
};

}  // namespace repdl::reference
