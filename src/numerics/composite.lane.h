// SPDX-License-Identifier: MIT
// Functions made of those of functions.lane.h, which only their families include.
#include "numerics/parts/orthogonal_polynomial.lane.h"

#include "numerics/functions/chebyshev_polynomial.lane.h"
// They use a macro of chebyshev_polynomial.lane.h.
#include "numerics/functions/hermite_polynomial.lane.h"
#include "numerics/functions/laguerre_polynomial.lane.h"
#include "numerics/functions/legendre_polynomial.lane.h"

#include "numerics/functions/entr.lane.h"
#include "numerics/functions/logaddexp2.lane.h"
#include "numerics/functions/logit.lane.h"
#include "numerics/functions/sinc.lane.h"
#include "numerics/functions/xlog1py.lane.h"
