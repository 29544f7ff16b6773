// SPDX-License-Identifier: MIT
// The numbers of linear algebra in the words for one number, on the host and in CUDA kernels.
#pragma once

#include "numerics/complex_scalar.h"

namespace repdl::scalar {

/// F()(tag, x...) of doubles.
template <class F, class... Ts>
REPDL_LANE double OfOne(Ts... x) {
  return F()(Tag<double>(), x...);
}
/// The same of a function that gives the parts of a complex number.
template <class F, class... Ts>
REPDL_LANE void PartsOfOne(double& re, double& im, Ts... x) {
  F()(Tag<double>(), x..., re, im);
}

#include "drivers/number.lane.h"

template <class Number>
REPDL_LANE void PutNumber(Number* row, int64_t i, const std::type_identity_t<Number>& x) {
  row[i] = x;
}

}  // namespace repdl::scalar
