// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.h"
#include "random_doubles.h"
#include "repdl/tensor.h"

namespace repdl::prove {

/// What the command line says; main.cc explains it.
struct Options {
  std::vector<std::string> functions, targets;  // all if empty
  std::vector<DType> dtypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  Inputs::Amount amount = {1, 0, 10'000'000};
  reference::RandomDoubles random;  // of float64
  int64_t checks = 1 << 20;
  bool check_filters = false;
  bool hard_cases = false;
  std::string results, commit;
};

/// Throws ValueError for what it does not understand.
Options ParseOptions(int argc, char** argv);

}  // namespace repdl::prove
