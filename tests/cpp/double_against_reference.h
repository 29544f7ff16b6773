// SPDX-License-Identifier: MIT
// What the tests of functions of doubles share: random numbers, and the comparison with MPFR on every CPU target.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "repdl/target.h"

namespace repdl {

/// The rows of double_functions.def and double_trig.def.
enum class DoubleFunction {
#define DOUBLE_UNARY(op, Name) k##Name,
#define DOUBLE_BINARY(op, Name) k##Name,
#define DOUBLE_GRADIENT(op, Name, expression) k##Name,
#include "cpp/double_functions.def"
#include "cpp/double_trig.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
};

/// An op, by whose name tests/reference/functions.def has the function too.
struct DoubleRow {
  std::string op;
  DoubleFunction function;
  bool binary;
};

/// The op on the active target: f(x[i]), f(x[i], y[i]), or the derivative at x[i] where the op is a gradient.
void ComputeByOp(const DoubleRow& row, const std::vector<double>& x, const std::vector<double>& y,
                 std::vector<double>& out);

/// As the text for one number.
double ForOneNumber(DoubleFunction function, double x, double y);

double AnyBits(std::mt19937_64& random);
/// +-2^e m with a random fraction m, of few bits now and then.
double OfExponents(std::mt19937_64& random, int low, int high);
double Uniform(std::mt19937_64& random, double low, double high);

/// With every NaN as one.
uint64_t Bits(double x);

/// What an environment variable says.
long CountOf(const char* variable, long otherwise);

class DoubleAgainstReference : public ::testing::TestWithParam<DoubleRow> {
 protected:
  ~DoubleAgainstReference() override { SetTarget(saved_); }

  /// Compares a block with the reference, on every target and for one number.
  void Check(const std::vector<double>& x, const std::vector<double>& y);
  /// The inputs of a file <op>.txt, with both signs: of our own folder, and of the one that REPDL_DOUBLE_INPUTS names.
  void CheckHardCases();
  /// Tells the first differences; `where` is a target, or another way to compute `out`.
  void Compare(std::string_view where, const std::vector<double>& x, const std::vector<double>& y,
               const std::vector<double>& out, const std::vector<double>& expected);
  /// What another way than the targets and the one number gives is compared, too.
  virtual void CheckMore(const std::vector<double>&, const std::vector<double>&, const std::vector<double>&) {}

  int wrong_ = 0;

 private:
  std::string_view saved_ = ActiveTarget();
};

}  // namespace repdl
