// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! lu
P A = L U of each matrix A = `input`, m x n: row j of `factors` is column j of U, down to its diagonal, and of L below
it. All is computed in double; results of float32 are rounded once. For k = 0 … min(m, n)-1:

- with `pivot`, the first i >= k with the largest |a_ik|, where NaN counts as larger than all numbers, is the pivot:
  rows i and k are exchanged. `pivots[k]` is i + 1, and k + 1 without `pivot`.
- u_kj = a_kj for j >= k, and l_ik = a_ik `/ u_kk`, or a_ik if u_kk is zero, for i > k;
- a_ij becomes `fma(-l_ik, u_kj, a_ij)` for i, j > k.

`info` is the first k + 1 with u_kk zero, or 0.
*/

/*! lu_solve
Each row x of `output` solves A x = b for the row b of `rows`, or Aᵀ x = b if `adjoint`, from what `lu` returned for A.
All is computed in double; results of float32 are rounded once. The numbers of b are exchanged as `pivots` says, k
ascending; a pivot 0 exchanges nothing. Then L and U are solved as in `solve_triangular`; if `adjoint` Uᵀ and Lᵀ first,
and then the exchanges are undone.
*/

/*! solve
`lu(input)` and `lu_solve` of its factors before these are rounded.
*/

/*! inv
Row j of `output` is what `solve` gives for row j of the identity: column j of the inverse. `info` is that of `lu`.
*/

/*! det
What `lu(input)` gives, `sign` = 1 or, if an odd number of pivots exchanged rows, -1, and the determinant: d = sign,
then `d = d * u_kk` for k ascending, in double; `output` is d, rounded once.
*/

/*! slogdet
What `lu(input)` gives, and the sign and the logarithm of the size of the determinant: `sign` is that of `det`, times 1,
-1 or u_kk, if it is zero or NaN, for k ascending; `logabsdet` is l, from +0, by `l = l + log(|u_kk|)` for k ascending,
in double, rounded once.
*/

/*! complex_lu
`lu` of matrices of complex numbers, which are pairs in a last dimension of size 2. All is computed in double; results of
float32 are rounded once. A pivot is the first with the largest `|Re| + |Im|`. `Less(z; p, q)`, z less the product of p = (a,
b) and q = (c, d), has the real part `fma(b, d, fma(-a, c, Re z))` and the imaginary part `fma(-b, c, fma(-a, d, Im z))`:
a_ij becomes `Less(a_ij; u_kj, l_ik)`. l_ik = a_ik / u_kk is `complex_div`, but for u_kk = 0.
*/

/*! complex_lu_solve
`lu_solve` of complex numbers, pairs in a last dimension of size 2, from what `complex_lu` returned, or of Aᵀ x = b if
`transposed`, by `complex_solve_triangular` as `lu_solve` by `solve_triangular`.
*/

/*! complex_solve
`complex_lu(input)` and `complex_lu_solve` of its factors before these are rounded.
*/

/*! complex_inv
Row j of `output` is what `complex_solve` gives for row j of the identity: column j of the inverse. `info` is that of
`complex_lu`.
*/

/*! complex_det
What `complex_lu(input)` gives, `sign` as in `det`, and the determinant: d = both parts of u_00 times `sign`, or `sign` of
a matrix without numbers, then `d * u_kk`, as in `complex_mul`, for k ascending from 1, in double; rounded once.
*/

/*! complex_slogdet
What `complex_lu(input)` gives, and the sign and the logarithm of the size of the determinant. `sign` is s, the product
of the exchanges' sign and the `complex_sgn` of the u_kk in the steps of `complex_det`; `logabsdet` is l, real, from +0, by
`l = l + log(hypot(Re u_kk, Im u_kk))` for k ascending; in double, rounded once.
*/

namespace repdl {

/// input (…, m, n); factors (…, n, m), pivots int64 (…, min(m, n)), info int64 (…).
Specs InferLu(const TensorView& input, bool pivot);
void Lu(const TensorView& input, bool pivot, Out factors, Out pivots, Out info);

/// factors (…, n, n) and pivots as Lu gave them; rows (…, m, n); output (…, m, n).
Specs InferLuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool adjoint);
void LuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool adjoint, Out output);

/// input (…, n, n), rows (…, m, n); output (…, m, n), then what Lu gives.
Specs InferSolve(const TensorView& input, const TensorView& rows);
void Solve(const TensorView& input, const TensorView& rows, Out output, Out factors, Out pivots, Out info);

/// input (…, n, n); output (…, n, n), info int64 (…).
Specs InferInv(const TensorView& input);
void Inv(const TensorView& input, Out output, Out info);

/// input (…, n, n); output and sign (…), factors (…, n, n), pivots int64 (…, n).
Specs InferDet(const TensorView& input);
void Det(const TensorView& input, Out output, Out sign, Out factors, Out pivots);

/// input (…, n, n); sign and logabsdet (…), factors (…, n, n), pivots int64 (…, n).
Specs InferSlogdet(const TensorView& input);
void Slogdet(const TensorView& input, Out sign, Out logabsdet, Out factors, Out pivots);

/// The same of pairs: all shapes but those of pivots, info, the sign of ComplexDet and logabsdet have 2 behind them.
Specs InferComplexLu(const TensorView& input, bool pivot);
void ComplexLu(const TensorView& input, bool pivot, Out factors, Out pivots, Out info);
Specs InferComplexLuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool transposed);
void ComplexLuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool transposed,
                    Out output);
Specs InferComplexSolve(const TensorView& input, const TensorView& rows);
void ComplexSolve(const TensorView& input, const TensorView& rows, Out output, Out factors, Out pivots, Out info);
Specs InferComplexInv(const TensorView& input);
void ComplexInv(const TensorView& input, Out output, Out info);
Specs InferComplexDet(const TensorView& input);
void ComplexDet(const TensorView& input, Out output, Out sign, Out factors, Out pivots);
Specs InferComplexSlogdet(const TensorView& input);
void ComplexSlogdet(const TensorView& input, Out sign, Out logabsdet, Out factors, Out pivots);

}  // namespace repdl
