// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "repdl/conformance.h"

namespace repdl::reference {

/// The results of a case and the memory that they live in.
struct Results {
  std::vector<TensorView> tensors;
  std::vector<std::shared_ptr<void>> memory;
};

/// What Case::Run must give, computed one number at a time from docs/arithmetic.md. Elementary functions come from
/// MPFR. No code of the library's drivers, kernels or lanes is used, so that an error there cannot hide here.
/// Throws std::logic_error for an op that the reference does not know.
Results Run(const Case& test_case);

/// Names of the ops that the reference knows.
std::vector<std::string> KnownOps();

}  // namespace repdl::reference
