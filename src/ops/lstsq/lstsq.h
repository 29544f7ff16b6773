// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! lstsq
Each row x of `output` is the shortest of those whose A x is nearest to b, for the row b of `rows` and the matrix A =
`input`, m x n. All is computed in double; results of float32 are rounded once. A and what is made of it on the way are
scaled as `geqrf` scales numbers of float64.

- With `pivot`, A = Q R by `geqrf` with `pivot`, and `rank` is the number of k, from 0 on and up to the first that is not
  so, with |r_kk| > `|r_00| * rcond`; without, it is min(m, n), and A = Q R by `geqrf` unless m < n.
- y is Qᵀ b as in `householder`, or b where there is no Q, and T the first `rank` rows of R, with +0 below the diagonal, or
  A where there is no R.
- If `rank` is n, T x = y is solved as in `solve_triangular`, by the first n numbers of y.
- Else Tᵀ = P S by `geqrf`, n x `rank`; Sᵀ z = y is solved as in `solve_triangular`, by the first `rank` numbers of y, and
  x is P of z with zeros behind it, as in `householder`. If `rank` is 0, x is +0.
- With `pivot`, x_j is then number `order[j]` of the result.
*/

/*! complex_lstsq
`lstsq` of complex numbers, which are pairs in a last dimension of size 2, by `complex_geqrf`, `complex_householder` and
`complex_solve_triangular`, with conjugate transposes in the place of transposes.
*/

namespace repdl {

/// input (…, m, n), rows (…, r, m); output (…, r, n), rank int64 (…).
Specs InferLstsq(const TensorView& input, const TensorView& rows, double rcond, bool pivot);
void Lstsq(const TensorView& input, const TensorView& rows, double rcond, bool pivot, Out output, Out rank);

/// The same of pairs: all shapes but that of rank have 2 behind them.
Specs InferComplexLstsq(const TensorView& input, const TensorView& rows, double rcond, bool pivot);
void ComplexLstsq(const TensorView& input, const TensorView& rows, double rcond, bool pivot, Out output, Out rank);

}  // namespace repdl
