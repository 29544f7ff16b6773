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

namespace repdl {

/// input (…, n, n); output (…, n, n), info int64 (…).
Specs InferCholesky(const TensorView& input);
void Cholesky(const TensorView& input, Out output, Out info);

}  // namespace repdl
