// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "base/check.h"

namespace repdl {

struct NamedTensor {
  ArgName name;
  const TensorView& tensor;
};

/// The result of an elementwise op on float32, bfloat16 and float16 tensors, checked. Its shape is what they broadcast
/// to. One dtype stands; of several, those of single numbers give way, and else float32 holds all.
TensorSpec BroadcastSpec(std::initializer_list<NamedTensor> operands);

}  // namespace repdl
