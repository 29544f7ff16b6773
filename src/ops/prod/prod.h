// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! prod
The product over the dimensions `dim`, or over all of them if `dim` is None or empty: the rule of Sum in order `blocked`, with a product in the place of each sum
and 1 in the place of +0, in double, and rounded to the dtype at the end.
*/

namespace repdl {

/// output has size 1 in the reduced dimensions with keepdim, else lacks them.
Specs InferProd(const TensorView& input, const std::optional<IntList>& dim, bool keepdim);
void Prod(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output);

}  // namespace repdl
