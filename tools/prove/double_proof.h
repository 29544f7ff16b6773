// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "functions.h"
#include "options.h"
#include "repdl/op.h"
#include "targets.h"

namespace repdl::prove {

/// Compares a function of float64 with the correctly rounded results at random inputs, on each target. Prints what came of it
/// and records it. Returns whether all is right.
bool TryDoubles(const reference::Function& function, const OpInfo& op, const std::vector<Target>& targets,
                const Options& options);

}  // namespace repdl::prove
