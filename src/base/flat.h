// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "repdl/tensor.h"

namespace repdl {

/// True if all tensors have one shape and fill their memory in one and the same order without gaps or
/// overlaps, so that an elementwise op may walk the memory.
bool AreFlatAlike(std::initializer_list<const TensorView*> tensors);

}  // namespace repdl
