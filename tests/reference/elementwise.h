// SPDX-License-Identifier: MIT
#pragma once

#include "tensors.h"

namespace repdl::reference {

Floats Relu(Floats values);
Floats ReluGrad(const Floats& grad_output, const Floats& output);
/// NaN if one is NaN; of equal numbers the one without a sign.
float LargerOf(float x, float y);

}  // namespace repdl::reference
