// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace repdl::testing {

/// One line of a golden file: "<digest>  <case>".
struct GoldenLine {
  std::string digest;
  std::string text;
};

/// Names of the ops that have a golden file, sorted.
std::vector<std::string> GoldenOps();

/// The lines of the golden file of an op.
std::vector<GoldenLine> GoldenLines(const std::string& op);

}  // namespace repdl::testing
