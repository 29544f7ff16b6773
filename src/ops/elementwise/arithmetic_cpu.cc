// SPDX-License-Identifier: MIT
#define REPDL_FEW_STEPS 1
#define REPDL_FAMILY "repdl/ops/arithmetic.def"
#include "ops/elementwise/family_cpu-inl.h"
