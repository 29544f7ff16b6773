// SPDX-License-Identifier: MIT
// Compares elementwise functions with MPFR, for all inputs or at random doubles, on every target. `repdl_prove --help` says how to call it.
#include <cstdio>

#include "double_proof.h"
#include "proof.h"
#include "repdl/error.h"

namespace repdl::prove {
namespace {

std::vector<Target> ChosenTargets(const Options& options) {
  std::vector<Target> all = Targets(), chosen;
  if (options.targets.empty()) return all;
  for (const std::string& name : options.targets) {
    const size_t size = chosen.size();
    for (const Target& target : all) {
      if (target.name == name) chosen.push_back(target);
    }
    if (chosen.size() == size) throw ValueError(Message("this build and this machine have no target '", name, "'"));
  }
  return chosen;
}

std::vector<const reference::Function*> ChosenFunctions(const Options& options) {
  std::vector<const reference::Function*> chosen;
  for (const std::string& name : options.functions) {
    chosen.push_back(reference::FindFunction(name));
    if (chosen.back() == nullptr) throw ValueError(Message("there is no proof of '", name, "'; see functions.def"));
  }
  if (chosen.empty()) {
    for (const reference::Function& function : reference::Functions()) chosen.push_back(&function);
  }
  return chosen;
}

bool ProveAll(const Options& options) {
  const std::vector<Target> targets = options.check_filters ? std::vector<Target>() : ChosenTargets(options);
  bool right = true;
  for (const reference::Function* function : ChosenFunctions(options)) {
    const OpInfo* op = FindOp(function->name);
    if (op == nullptr && !targets.empty()) {
      if (!options.functions.empty()) throw ValueError(Message("there is no op '", function->name, "'"));
      std::printf("%s: there is no op of this name, nothing proven\n", std::string(function->name).c_str());
      continue;
    }
    for (DType dtype : options.dtypes) {
      if (!targets.empty() && !Takes(*op, *function, dtype)) continue;
      std::vector<Target> able;
      for (const Target& target : targets) {
        if (!target.cuda || op->HasCuda()) able.push_back(target);
      }
      if (dtype != DType::kFloat64) {
        right = Prove(*function, op, dtype, able, options) && right;
      } else if (!able.empty() && reference::HasRandomDoubles(*function)) {
        right = TryDoubles(*function, *op, able, options) && right;
      } else if (!able.empty() && !options.functions.empty()) {
        throw ValueError(
            Message("no random float64 inputs are drawn for '", function->name, "'; see random_doubles.cc"));
      }
    }
  }
  return right;
}

}  // namespace
}  // namespace repdl::prove

int main(int argc, char** argv) {
  try {
    return repdl::prove::ProveAll(repdl::prove::ParseOptions(argc, argv)) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "repdl_prove: %s\n", error.what());
    return 2;
  }
}
