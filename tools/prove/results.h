// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace repdl::prove {

/// A line of the file of results, from which docs/proofs.md is built.
struct Result {
  std::string function, dtype, target;
  std::string tried;  // "all" inputs, a "sample", "pairs", or "random" doubles
  int64_t inputs, wrong;
  double seconds;  // to run the op on all inputs and compare
  std::string compiler, processor, commit;
  std::string command = {};  // where another one tries other inputs
};

/// Puts the result into the file, with the date of today in UTC, in place of an older one of the same function, dtype and target. Lines are sorted.
void Record(const std::string& path, const Result& result);

}  // namespace repdl::prove
