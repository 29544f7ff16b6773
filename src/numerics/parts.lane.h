// SPDX-License-Identifier: MIT
// What several functions share, in the order of its own needs. (Error-free transforms come with the lane words.)
// clang-format off: the order matters
#include "numerics/parts/patch.lane.h"
#include "numerics/parts/exp.lane.h"
#include "numerics/parts/log.lane.h"
#include "numerics/parts/float_log.lane.h"
#include "numerics/parts/hyperbolic.lane.h"
#include "numerics/parts/erf.lane.h"
#include "numerics/parts/trig.lane.h"
#include "numerics/parts/atan.lane.h"
#include "numerics/parts/quick_log2.lane.h"
#include "numerics/parts/double_double.lane.h"
#include "numerics/parts/hard_case.lane.h"
#include "numerics/parts/double_expansion.lane.h"
#include "numerics/parts/double_exp.lane.h"
#include "numerics/parts/double_log.lane.h"
#include "numerics/parts/double_trig.lane.h"
#include "numerics/parts/double_erf.lane.h"
