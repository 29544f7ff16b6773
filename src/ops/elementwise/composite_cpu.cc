// SPDX-License-Identifier: MIT
#include "numerics/composite_highway-inl.h"
#define REPDL_FAMILY "repdl/ops/composite.def"
#include "ops/elementwise/family_cpu-inl.h"
