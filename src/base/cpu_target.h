// SPDX-License-Identifier: MIT
#pragma once

#include "repdl_targets.h"  // generated: REPDL_FOR_EACH_TARGET

namespace repdl::internal {

/// Index of the active target in the list of compiled ones.
int ActiveTargetIndex();

}  // namespace repdl::internal
