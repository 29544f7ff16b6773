// SPDX-License-Identifier: MIT
#include "cpp/golden.h"

#include <filesystem>

#include "repdl/error.h"

namespace repdl::testing {

std::vector<std::string> GoldenOps() {
  std::vector<std::string> ops;
  for (const OpInfo& op : AllOps()) ops.emplace_back(op.name);
  return ops;
}

std::vector<GoldenLine> GoldenLines(const std::string& op) {
  for (const std::filesystem::path folder : {REPDL_GOLDEN_DIRS}) {
    const std::filesystem::path path = folder / (op + ".txt");
    if (exists(path)) return ReadGoldenFile(path.string());
  }
  throw ValueError(Message("there is no golden file ", op, ".txt: run `make golden`"));
}

}  // namespace repdl::testing
