// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "functions.h"
#include "interval.h"

namespace repdl::reference {

/// What is tried: `inputs` random doubles, in intervals of up to `an_interval`.
struct RandomDoubles {
  uint64_t seed = 1;
  int64_t inputs = 10'000'000;
  int64_t an_interval = 16384;
  double test_bound = kTestBound;
};

/// What came of it. MPFR gives the results that a polynomial does not decide, and others where there is none.
struct RandomResults {
  int64_t inputs = 0, intervals = 0;
  int64_t by_mpfr = 0, undecided = 0, subnormal = 0;
  int64_t checked = 0, bad = 0;  // comparisons of polynomials with MPFR, and how many of them were out of their bound
  double error = 0;              // the largest in them
  std::vector<int64_t> wrong;    // of each way to compute
};

/// A way to compute a function on arrays. Functions of one number ignore y.
using ComputeDoubles =
    std::function<void(const std::vector<double>& x, const std::vector<double>& y, std::vector<double>& out)>;

/// Is told of the first wrong results of each way to compute.
using ShowWrong = std::function<void(size_t way, double x, double y, double got, double expected)>;

/// Whether operands are drawn for the function: for all that rounds once and of which MPFR gives many values a second.
bool HasRandomDoubles(const Function& function);

/// The operands around which interval number `i` lies. All exponents come in turn, with both signs; most of the operands are
/// where the function has results of its own.
Operands DrawOperands(const Function& function, uint64_t seed, int64_t i);

/// Compares functions with the correctly rounded results at random doubles. `progress` hears how many were tried.
RandomResults TryRandomDoubles(const Function& function, const RandomDoubles& tried,
                               const std::vector<ComputeDoubles>& ways, const ShowWrong& show,
                               const std::function<void(int64_t)>& progress);

}  // namespace repdl::reference
