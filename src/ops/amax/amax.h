// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! amax
The `maximum` of all numbers over the dimensions `dim`, or over all of them if `dim` is None or empty: NaN if there is one, and of
zeros +0 unless all are -0. So it does not depend on an order.
*/

/*! amin
The `minimum` of all numbers over the dimensions `dim`, or over all of them if `dim` is None or empty: NaN if there is one, and of
zeros -0 unless all are +0.
*/

namespace repdl {

/// input is float32, bfloat16 or float16, with at least one number to reduce for each of the result; output has its type,
/// and size 1 in the reduced dimensions with keepdim, else lacks them.
Specs InferAmax(const TensorView& input, const std::optional<IntList>& dim, bool keepdim);
void Amax(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output);
Specs InferAmin(const TensorView& input, const std::optional<IntList>& dim, bool keepdim);
void Amin(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output);

}  // namespace repdl
