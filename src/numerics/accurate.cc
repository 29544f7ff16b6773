// SPDX-License-Identifier: MIT
#include "numerics/accurate.h"

#include "numerics/accurate_scalar.h"
