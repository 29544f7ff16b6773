// SPDX-License-Identifier: MIT
// Every function of src/numerics.
#include "numerics/parts.lane.h"
#include "numerics/functions/exp.lane.h"
#include "numerics/functions/log.lane.h"
#include "numerics/functions/relu.lane.h"
