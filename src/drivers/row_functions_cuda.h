// SPDX-License-Identifier: MIT
// The functions that texts of rows take, of one number of each type.
#pragma once

#include "numerics/functions_scalar.h"

namespace repdl::scalar {

REPDL_LANE float ExpOfEach(float x) { return Exp(x); }
REPDL_LANE float LogOfEach(float x) { return Log(x); }
REPDL_LANE double ExpOfEach(double x) { return ExpDouble()(Tag<double>(), x); }
REPDL_LANE double LogOfEach(double x) { return LogDouble()(Tag<double>(), x); }

}  // namespace repdl::scalar
