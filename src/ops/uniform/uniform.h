// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! uniform
Numbers of [0, 1) moved to [low, high): `output = fma(input, high - low, low)`, low and high rounded to float32 before the
difference. It is what torch's CPU `uniform_(low, high)` does on a CPU with AVX2.
*/

namespace repdl {

Specs InferUniform(const TensorView& input, double low, double high);
void Uniform(const TensorView& input, double low, double high, Out output);

}  // namespace repdl
