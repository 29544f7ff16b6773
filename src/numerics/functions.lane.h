// SPDX-License-Identifier: MIT
// Every function of src/numerics.
#include "numerics/exp.lane.h"
#include "numerics/log.lane.h"
#include "numerics/relu.lane.h"
