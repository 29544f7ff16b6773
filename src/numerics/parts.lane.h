// SPDX-License-Identifier: MIT
// What several functions share, in the order of its own needs. (Error-free transforms come with the lane words.)
#include "numerics/parts/patch.lane.h"
