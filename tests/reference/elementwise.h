// SPDX-License-Identifier: MIT
#pragma once

#include "tensors.h"

namespace repdl::reference {

Floats Relu(Floats values);
Floats ReluGrad(const Floats& grad_output, const Floats& output);

}  // namespace repdl::reference
