// SPDX-License-Identifier: MIT
#include "cpp/golden.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace repdl::testing {

std::vector<std::string> GoldenOps() {
  std::vector<std::string> ops;
  for (const auto& entry : std::filesystem::directory_iterator(REPDL_GOLDEN_DIR)) {
    if (entry.path().extension() == ".txt") ops.push_back(entry.path().stem());
  }
  std::ranges::sort(ops);
  return ops;
}

std::vector<GoldenLine> GoldenLines(const std::string& op) {
  std::ifstream file(std::string(REPDL_GOLDEN_DIR) + "/" + op + ".txt");
  std::vector<GoldenLine> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find("  ");
    lines.push_back({line.substr(0, space), line.substr(space + 2)});
  }
  return lines;
}

}  // namespace repdl::testing
