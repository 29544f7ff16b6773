// SPDX-License-Identifier: MIT
#include "fuzz/fuzz.h"
#include "repdl/conformance.h"
#include "repdl/error.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl::testing {

bool IsSmall(const OpInfo& op, std::span<const Value> args) {
  const Specs specs = op.infer(args);
  for (int i = 0; i < specs.size; ++i) {
    if (MakeView(nullptr, specs.spec[i].dtype, specs.spec[i].shape).numel() > kMaxFuzzElements) return false;
  }
  return true;
}

std::string Outcome(const OpInfo& op, std::span<const Value> args, std::string_view target, int threads) {
  SetTarget(target);
  SetNumThreads(threads);
  TensorMemory memory;
  try {
    std::vector<TensorView> results = memory.New(op.infer(args));
    op.run(args, results);
    for (size_t i = 0; i < args.size(); ++i) {
      const auto* tensor = std::get_if<TensorView>(&args[i]);
      if (tensor != nullptr && op.args[i].IsMutated()) results.push_back(*tensor);
    }
    return Digest(results);
  } catch (const ValueError& error) {
    return error.what();
  } catch (const TypeError& error) {
    return error.what();
  } catch (const NotImplementedError& error) {
    return error.what();
  }
}

}  // namespace repdl::testing
