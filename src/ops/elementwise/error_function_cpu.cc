// SPDX-License-Identifier: MIT
#define REPDL_FAMILY "repdl/ops/error_function.def"
#include "ops/elementwise/family_cpu-inl.h"
