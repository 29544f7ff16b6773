// SPDX-License-Identifier: MIT
// The special functions of two numbers, which are kept apart as those of one are in special.lane.h.
#include "numerics/parts/hurwitz.lane.h"
#include "numerics/parts/incomplete_gamma.lane.h"

#include "numerics/functions/igamma.lane.h"
#include "numerics/functions/igammac.lane.h"
#include "numerics/functions/polygamma.lane.h"
#include "numerics/functions/zeta.lane.h"
