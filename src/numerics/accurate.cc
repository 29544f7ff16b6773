// SPDX-License-Identifier: MIT
#include "numerics/accurate_special.h"

#include "numerics/accurate_special_scalar.h"
