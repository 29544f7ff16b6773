// SPDX-License-Identifier: MIT
#pragma once

#include "functions.h"
#include "options.h"
#include "repdl/op.h"
#include "targets.h"

namespace repdl::prove {

/// Runs `op` on all inputs that the options ask for, on every target, and compares. With no targets only the filter is
/// checked. Prints what it found, and returns whether all is right.
bool Prove(const reference::Function& function, const OpInfo* op, DType dtype, const std::vector<Target>& targets,
           const Options& options);

}  // namespace repdl::prove
