// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "repdl/golden.h"

namespace repdl::testing {

using repdl::GoldenLine;

/// Names of the ops, which all must have a golden file.
std::vector<std::string> GoldenOps();

/// The lines of the golden file of an op.
std::vector<GoldenLine> GoldenLines(const std::string& op);

}  // namespace repdl::testing
