// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! skeleton
The contract: the formula in the words of docs/arithmetic.md, where it rounds, and its special values. This op is
`output = input * factor`, element by element, factor rounded to float32.
*/

namespace repdl {

/// Shapes of arguments and results, and what else a C++ caller must know. Tensors come first, then numbers, then outputs.
Specs InferSkeleton(const TensorView& input, double factor);
void Skeleton(const TensorView& input, double factor, Out output);

}  // namespace repdl
