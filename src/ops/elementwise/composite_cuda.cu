// SPDX-License-Identifier: MIT
#include "numerics/composite_scalar.h"
#define REPDL_FAMILY "repdl/ops/composite.def"
#include "ops/elementwise/family_cuda.h"
