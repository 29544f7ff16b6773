// SPDX-License-Identifier: MIT
// Complex numbers are pairs of a real and an imaginary part in a last dimension of size 2.
#pragma once

#include "base/check.h"
#include "repdl/tensor.h"

namespace repdl {

/// CheckFloat, and that the tensor has pairs.
void CheckPairs(const ArgName& name, const TensorView& tensor, const TensorView& like);

/// The real parts of pairs, or with `which` 1 the imaginary ones.
TensorView PartsOf(const TensorView& pairs, int which);

}  // namespace repdl
