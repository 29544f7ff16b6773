// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! cross
Of vectors a = `input` and b = `other` of three numbers along dim: `a_1 * b_2 - a_2 * b_1`, `a_2 * b_0 - a_0 * b_2` and `a_0 *
b_1 - a_1 * b_0`, each product and each difference rounded once.
*/

namespace repdl {

/// Of one shape, of size 3 along dim; so is output.
Specs InferCross(const TensorView& input, const TensorView& other, int64_t dim);
void Cross(const TensorView& input, const TensorView& other, int64_t dim, Out output);

}  // namespace repdl
