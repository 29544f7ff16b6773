// SPDX-License-Identifier: MIT
// The special functions. Their texts are long and only the ops of that family need them, so they are not in
// functions.lane.h, which every kernel includes.
#include "numerics/parts/gamma.lane.h"
// It uses pairs of gamma.lane.h.
#include "numerics/parts/bessel.lane.h"

#include "numerics/functions/digamma.lane.h"
#include "numerics/functions/i0.lane.h"
#include "numerics/functions/i0e.lane.h"
#include "numerics/functions/i1.lane.h"
#include "numerics/functions/i1e.lane.h"
#include "numerics/functions/lgamma.lane.h"
#include "numerics/functions/trigamma.lane.h"
