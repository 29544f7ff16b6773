// SPDX-License-Identifier: MIT
// The special functions. Their texts are long and only the ops of that family need them, so they are not in
// functions.lane.h, which every kernel includes.
#include "numerics/parts/gamma.lane.h"
// It uses pairs of gamma.lane.h.
#include "numerics/parts/bessel.lane.h"
// The rest uses what these share.
#include "numerics/parts/bessel_k.lane.h"
// It uses the logarithm of bessel_k.lane.h.
#include "numerics/parts/bessel_jy.lane.h"
#include "numerics/parts/normal.lane.h"
// It uses what Bessel functions share.
#include "numerics/parts/airy.lane.h"

#include "numerics/functions/airy_ai.lane.h"
#include "numerics/functions/bessel_j0.lane.h"
#include "numerics/functions/bessel_j1.lane.h"
#include "numerics/functions/bessel_y0.lane.h"
#include "numerics/functions/bessel_y1.lane.h"
#include "numerics/functions/digamma.lane.h"
#include "numerics/functions/erfcx.lane.h"
#include "numerics/functions/i0.lane.h"
#include "numerics/functions/i0e.lane.h"
#include "numerics/functions/i1.lane.h"
#include "numerics/functions/i1e.lane.h"
#include "numerics/functions/lgamma.lane.h"
#include "numerics/functions/log_ndtr.lane.h"
#include "numerics/functions/modified_bessel_k0.lane.h"
#include "numerics/functions/modified_bessel_k1.lane.h"
#include "numerics/functions/ndtri.lane.h"
#include "numerics/functions/scaled_modified_bessel_k0.lane.h"
#include "numerics/functions/scaled_modified_bessel_k1.lane.h"
#include "numerics/functions/spherical_bessel_j0.lane.h"
#include "numerics/functions/trigamma.lane.h"
