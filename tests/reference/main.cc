// SPDX-License-Identifier: MIT
// Reads cases, one a line, and prints the golden line of each: digest and marks as the reference computes them. With
// --compare it also runs the library and reports every case where the two differ.

#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "marks.h"
#include "reference.h"
#include "repdl/golden.h"

namespace {

using repdl::Case;
using repdl::TensorView;

/// Returns whether the library agrees with `reference`, the reference's results and their digest.
bool Agrees(const std::string& line, const repdl::reference::Results& reference, const std::string& digest) {
  Case test_case(line);  // an op may change its tensors, so each side has its own
  const std::vector<TensorView> library = test_case.Run();
  if (repdl::Digest(library) == digest) return true;
  std::fprintf(stderr, "%s differs: %s\n", std::string(test_case.op().name).c_str(), line.c_str());
  std::fprintf(stderr, "  %s\n", repdl::DescribeDifference(reference.tensors, library).c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  bool compare = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--compare") != 0) {
      std::fprintf(stderr, "usage: repdl_reference [--compare] < cases\n");
      return 2;
    }
    compare = true;
  }

  int wrong = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    try {
      const Case test_case(line);
      const repdl::reference::Results results = repdl::reference::Run(test_case);
      const std::string digest = repdl::Digest(results.tensors);
      std::printf("%s  %s  %s\n", digest.c_str(), repdl::reference::MarksOf(results.tensors).c_str(), line.c_str());
      if (compare && !Agrees(line, results, digest)) ++wrong;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "error: %s\n  %s\n", line.c_str(), error.what());
      ++wrong;
    }
  }
  return wrong == 0 ? 0 : 1;
}
