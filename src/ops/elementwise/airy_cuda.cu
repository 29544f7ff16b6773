// SPDX-License-Identifier: MIT
#include "numerics/special_scalar.h"
#define REPDL_FAMILY "repdl/ops/airy.def"
#include "ops/elementwise/family_cuda.h"
