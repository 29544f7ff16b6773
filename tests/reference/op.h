// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "reference.h"
#include "tensors.h"

namespace repdl::reference {

/// Enters an op in the table of the reference. The function reads the case, computes, and packs the results.
struct Op {
  Op(std::string_view name, Results (*run)(const Case& test_case));
};

}  // namespace repdl::reference
