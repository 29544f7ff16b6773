// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! glu
Of the halves a and b of the input along dim: `a * sigmoid(b)`, sigmoid correctly rounded.
*/

/*! glu_grad
With the halves a and b of the input along dim and s = sigmoid(b), correctly rounded: `s * grad_output` in the half of a, and
`(((1 - s) * s) * grad_output) * a` in the half of b.
*/

namespace repdl {

/// The size along dim is even. float32, bfloat16 or float16, computed as float32, or float64.
Specs InferGlu(const TensorView& input, int64_t dim);
void Glu(const TensorView& input, int64_t dim, Out output);

/// grad_output has the dtype of the input and the shape of what glu gave.
Specs InferGluGrad(const TensorView& grad_output, const TensorView& input, int64_t dim);
void GluGrad(const TensorView& grad_output, const TensorView& input, int64_t dim, Out grad_input);

}  // namespace repdl
