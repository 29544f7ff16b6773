// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "reference.h"
#include "tensors.h"

namespace repdl::reference {

/// Enters an op in the table of the reference. The function reads the case, computes, and packs the results.
struct Op {
  Op(std::string_view name, Results (*run)(const Case& test_case));
};

/// Whether the first tensor of a case is float64, so that all is computed in double.
inline bool IsDouble(const Case& test_case) {
  for (const Value& value : test_case.args()) {
    if (const auto* tensor = std::get_if<TensorView>(&value)) return tensor->dtype == DType::kFloat64;
  }
  return false;
}

}  // namespace repdl::reference

/// Run<double> or Run<float>, by the case.
#define REPDL_EITHER(Run) \
  [](const Case& test_case) { return IsDouble(test_case) ? Run<double>(test_case) : Run<float>(test_case); }
