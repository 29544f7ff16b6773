// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

/*! mm
`output[…, i, j] = Product(A[…, i, k], B[…, k, j])` over k, with A = `input`, or its last two dimensions exchanged if
`transA`, and B likewise from `mat2`. A batch of matrices is multiplied matrix by matrix; an operand with two dimensions
serves the whole batch.
*/

namespace repdl {

/// input (…, m, k) or, with transA, (…, k, m); mat2 (…, k, n) or, with transB, (…, n, k); output (…, m, n).
Specs InferMm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order order);
void Mm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order order, Out output);

}  // namespace repdl
