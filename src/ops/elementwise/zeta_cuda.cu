// SPDX-License-Identifier: MIT
#include "numerics/special_of_two_scalar.h"
#define REPDL_FAMILY "repdl/ops/zeta.def"
#include "ops/elementwise/family_cuda.h"
