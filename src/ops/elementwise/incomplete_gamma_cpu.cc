// SPDX-License-Identifier: MIT
#include "numerics/special_of_two_highway-inl.h"
#define REPDL_FAMILY "repdl/ops/incomplete_gamma.def"
#include "ops/elementwise/family_cpu-inl.h"
