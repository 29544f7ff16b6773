// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "base/check.h"
#include "repdl/tensor.h"

namespace repdl {

/// The dimensions of a tensor that a reduction names, which are all for None and for an empty list.
struct ReducedDims {
  bool reduced[kMaxRank];
  int64_t count = 1;  // the number of terms

  ReducedDims(const ArgName& name, const TensorView& input, const std::optional<IntList>& dim);

  /// Size 1 in the reduced dimensions with keepdim, else without them.
  IntList OutputShape(const TensorView& input, bool keepdim) const;
};

}  // namespace repdl
