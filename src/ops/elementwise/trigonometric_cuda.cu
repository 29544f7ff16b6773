// SPDX-License-Identifier: MIT
#define REPDL_FAMILY "repdl/ops/trigonometric.def"
#include "ops/elementwise/family_cuda.h"
