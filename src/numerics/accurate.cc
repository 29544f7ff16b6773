// SPDX-License-Identifier: MIT
#include "numerics/accurate_special.h"

#include "numerics/accurate_composite_scalar.h"
#include "numerics/accurate_special_scalar.h"
