// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

/*! mm
`output[…, i, j] = Product(A[…, i, k], B[…, k, j])` over k, with A = `input`, or its last two dimensions exchanged if
`transA`, and B likewise from `mat2`. A batch of matrices is multiplied matrix by matrix; an operand with two dimensions
serves the whole batch.
*/

/*! mv
`output[i] = Product(input[i, k], vec[k])` over k, as a column of `mm`.
*/

/*! dot
`Product(input[k], tensor[k])` over k, as an element of `mm`.
*/

/*! integer_mm
The product of two matrices, or matrix by matrix of a batch, in integers modulo 2^n, n being the bits of the type: a sum is exact
in any order. An operand with two dimensions serves the whole batch.
*/

/*! complex_mm
Complex numbers are pairs in a last dimension of size 2. With `a + bi` the numbers of `input`, `c + di` those of `mat2`,
the imaginary parts negated first where `conjA` or `conjB` says so, the result is `mm(a, c) - mm(b, d)` and `mm(a, d) +
mm(b, c)`: four products by the rule of `mm`, then one rounding for each part. A batch of matrices is multiplied matrix
by matrix; an operand that is one matrix serves the whole batch.
*/

namespace repdl {

/// input (…, m, k) or, with transA, (…, k, m); mat2 (…, k, n) or, with transB, (…, n, k); output (…, m, n).
Specs InferMm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order order);
void Mm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order order, Out output);

/// input (m, k), vec (k), output (m).
Specs InferMv(const TensorView& input, const TensorView& vec, Order order);
void Mv(const TensorView& input, const TensorView& vec, Order order, Out output);

/// input (k), tensor (k), output ().
Specs InferDot(const TensorView& input, const TensorView& tensor, Order order);
void Dot(const TensorView& input, const TensorView& tensor, Order order, Out output);

/// input (…, m, k), mat2 (…, k, n), output (…, m, n), of integers of one type.
Specs InferIntegerMm(const TensorView& input, const TensorView& mat2);
void IntegerMm(const TensorView& input, const TensorView& mat2, Out output);

/// input (…, m, k, 2), mat2 (…, k, n, 2), output (…, m, n, 2).
Specs InferComplexMm(const TensorView& input, const TensorView& mat2, bool conjA, bool conjB, Order order);
void ComplexMm(const TensorView& input, const TensorView& mat2, bool conjA, bool conjB, Order order, Out output);

}  // namespace repdl
