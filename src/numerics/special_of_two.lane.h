// SPDX-License-Identifier: MIT
// The special functions of two and three numbers, which are kept apart as those of one are in special.lane.h.
#include "numerics/parts/hurwitz.lane.h"
#include "numerics/parts/incomplete_gamma.lane.h"
// It uses the tables of incomplete_gamma.lane.h.
#include "numerics/parts/sample_gradient.lane.h"

#include "numerics/functions/dirichlet_grad.lane.h"
#include "numerics/functions/igamma.lane.h"
#include "numerics/functions/igammac.lane.h"
#include "numerics/functions/polygamma.lane.h"
#include "numerics/functions/standard_gamma_grad.lane.h"
#include "numerics/functions/zeta.lane.h"
