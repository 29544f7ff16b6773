// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! clamp
`output = clamp_max(clamp_min(input, min), max)`, `min` and `max` rounded as number parameters are: a number between the bounds or equal to one
stays as it is, and so does NaN; of bounds that cross, max.
*/

/*! clamp_tensor
`output = clamp_max(clamp_min(input, min), max)`; the operands are broadcast.
*/

namespace repdl {

/// Operands are float32, bfloat16 or float16, or all float64. The result of clamp has the type of its input; BroadcastSpec says which
/// that of clamp_tensor has.
Specs InferClamp(const TensorView& input, double min, double max);
void Clamp(const TensorView& input, double min, double max, Out output);

Specs InferClampTensor(const TensorView& input, const TensorView& min, const TensorView& max);
void ClampTensor(const TensorView& input, const TensorView& min, const TensorView& max, Out output);

}  // namespace repdl
