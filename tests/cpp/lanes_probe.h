// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// Runs a lane word or function over arrays, on the active target.
struct FmaProbe {
  const float *a, *b, *c;
  float* out;
  int64_t n;
};
REPDL_KERNEL(ProbeFma, FmaProbe)

struct FmaDoubleProbe {
  const double *a, *b, *c;
  double* out;
  int64_t n;
};
REPDL_KERNEL(ProbeFmaDouble, FmaDoubleProbe)

/// A bit for each of Eq, NotEq, Lt, Le, Gt, Ge, IsNaN.
template <class T>
struct ComparisonProbe {
  const T *a, *b;
  T* out;
  int64_t n;
};
using FloatComparisonProbe = ComparisonProbe<float>;
using DoubleComparisonProbe = ComparisonProbe<double>;
REPDL_KERNEL(ProbeComparisons, FloatComparisonProbe)
REPDL_KERNEL(ProbeComparisonsOfDoubles, DoubleComparisonProbe)

/// What Highway compiled for the target, to see that the dispatch happened.
struct TargetProbe {
  int64_t* lanes;
  int64_t* highway_target;
};
REPDL_KERNEL(ProbeTarget, TargetProbe)

}  // namespace repdl
