// SPDX-License-Identifier: MIT
#include "numerics/special_highway-inl.h"
#define REPDL_FAMILY "repdl/ops/airy.def"
#include "ops/elementwise/family_cpu-inl.h"
