// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! solve_triangular
Each row x of `output` solves A x = b for the row b of `rows`; A = `input` is lower triangular or, if `upper`, upper
triangular, and what is on the other side of the diagonal is not read. All is computed in double; results of float32 are
rounded once. The unknowns are found one after the other, i ascending for lower and descending for upper triangles:

`x_i` = Chain(b_i; a_ik, x_k) `/ a_ii`, over the known k in the order in which they were found; with `unitriangular`
without the division.
*/

/*! cholesky_solve
Each row x of `output` solves L Lᵀ x = b for the row b of `rows` and the lower triangular L = `factor`:
`solve_triangular` by L, and then, before the results are rounded, by Lᵀ.
*/

/*! complex_solve_triangular
`solve_triangular` of complex numbers, pairs in a last dimension of size 2. b_i becomes `Less(b_i; a_ik, x_k)`, as
in `complex_lu`, for the known k, and quotients are `complex_div`.
*/

/*! complex_cholesky_solve
Each row x of `output` solves L Lᴴ x = b, for complex numbers, by `complex_solve_triangular` of L and then, before the
results are rounded, of its conjugate transpose.
*/

namespace repdl {

/// input (…, n, n); rows (…, m, n); output (…, m, n).
Specs InferSolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular);
void SolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular, Out output);

/// factor (…, n, n); rows (…, m, n); output (…, m, n).
Specs InferCholeskySolve(const TensorView& factor, const TensorView& rows);
void CholeskySolve(const TensorView& factor, const TensorView& rows, Out output);

/// The same of pairs: all shapes have 2 behind them.
Specs InferComplexSolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular);
void ComplexSolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular,
                            Out output);
Specs InferComplexCholeskySolve(const TensorView& factor, const TensorView& rows);
void ComplexCholeskySolve(const TensorView& factor, const TensorView& rows, Out output);

}  // namespace repdl
