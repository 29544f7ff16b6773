// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! cholesky
`output` = U, upper triangular, with Uᵀ U = A = `input`, matrix by matrix. All is computed in double; results of float32 are
rounded once. Of A only the lower triangle is read. For j = 0 … n-1, all k < j:

- d = Chain(a_jj; u_kj, u_kj), u_jj = `sqrt(d)`;
- u_ji = Chain(a_ij; u_kj, u_ki) `/ u_jj` for i > j, and +0 for i < j.

`info` is the first j + 1 with not d > 0, or 0; results behind it are what the formulas give.
*/

/*! complex_cholesky
`cholesky` of Hermitian matrices of complex numbers, pairs in a last dimension of size 2: `output` = U, upper triangular,
with Uᵀ conj(U) = A. For j = 0 … n-1, a_ij becomes `Less(a_ij; conj(u_kj), u_ki)`, as in `complex_lu`, for all k < j
ascending; u_jj = `sqrt(d)`, d the real part of a_jj, whose imaginary part counts as 0; and u_ji are both parts of a_ij `/
u_jj`. `info` is as in `cholesky`.
*/

namespace repdl {

/// input (…, n, n); output (…, n, n), info int64 (…).
Specs InferCholesky(const TensorView& input);
void Cholesky(const TensorView& input, Out output, Out info);

/// The same of pairs: input and output have 2 behind their shapes.
Specs InferComplexCholesky(const TensorView& input);
void ComplexCholesky(const TensorView& input, Out output, Out info);

}  // namespace repdl
