// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! prod
The product over the dimensions `dim`, or over all of them if `dim` is None or empty: the rule of Sum in order `blocked`, with a product in the place of each sum
and 1 in the place of +0, in double, and rounded to the dtype at the end.
*/

/*! complex_prod
Complex numbers are pairs in a last dimension of size 2; `dim` counts the others. The product over the dimensions `dim`, or over
all of them if `dim` is None or empty: the rule of Sum in order `blocked`, with a `complex_mul` in the place of each sum, in double,
and rounded to the dtype at the end. A lane begins with its first number, and one without a number is left out; without any the
product is 1 + 0i.
*/

namespace repdl {

/// output has size 1 in the reduced dimensions with keepdim, else lacks them.
Specs InferProd(const TensorView& input, const std::optional<IntList>& dim, bool keepdim);
void Prod(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output);

/// Of pairs, (…, 2), as is output.
Specs InferComplexProd(const TensorView& input, const std::optional<IntList>& dim, bool keepdim);
void ComplexProd(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output);

}  // namespace repdl
