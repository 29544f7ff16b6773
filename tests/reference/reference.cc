// SPDX-License-Identifier: MIT
#include "reference.h"

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "op.h"

namespace repdl::reference {
namespace {

using RunFn = Results (*)(const Case&);

std::map<std::string_view, RunFn>& Table() {
  static std::map<std::string_view, RunFn> table;
  return table;
}

}  // namespace

Op::Op(std::string_view name, RunFn run) { Table().emplace(name, run); }

Results Run(const Case& test_case) {
  const auto found = Table().find(test_case.op().name);
  if (found == Table().end()) {
    throw std::logic_error("the reference does not know the op " + std::string(test_case.op().name));
  }
  return found->second(test_case);
}

std::vector<std::string> KnownOps() {
  std::vector<std::string> names;
  for (const auto& [name, run] : Table()) names.emplace_back(name);
  return names;
}

}  // namespace repdl::reference
