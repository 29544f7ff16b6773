// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! ldl
L D Lᵀ of a symmetric matrix A = `input`, with rows and columns exchanged, by Bunch and Kaufman's partial pivoting; of A only the
lower triangle is read, a_ij with i >= j. D has blocks of one or two on its diagonal, L ones there. All is computed in double;
results of float32 are rounded once. From k = 0 on, until k is n:

- c is the largest |a_ik| of i > k, +0 without any, in row r, the first one; a NaN counts as the largest. s is the largest |a_rj| of
  k <= j < r and |a_ir| of i > r, in this order, which is sought where the next step needs it. h is (1 + sqrt(17)) / 8, rounded.
- If |a_kk| and c are 0, or a_kk is NaN, k + 1 is `info`, unless it was set before; its default is 0. The column stays as it is.
- Else p = k if |a_kk| >= h c or else `|a_kk| >= h * c * (c / s)`; p = r if not so; and q, the place of exchange, is k if p = k or |a_rr| >= `h * s`,
  else k + 1, and the block is of two. Rows and columns p and q from k on are exchanged.
- A block of one: l_i = `a_ik / a_kk`, a_ij = `fma(-a_jk, l_i, a_ij)` for i >= j > k, and then a_ik = l_i, i > k.
- A block of two: with b = a_k+1,k, e = `a_k+1,k+1 / b`, f = `a_kk / b`, t = `1 / (e * f - 1) / b`, and x_i, y_i the numbers of columns k and k + 1: u_i =
  `(e * x_i - y_i) * t`, v_i = `(f * y_i - x_i) * t`, a_ij = `fma(-y_j, v_i, fma(-x_j, u_i, a_ij))` for i >= j > k + 1, and then u and v take the
  places of x and y.

Row j of `factors` is column j of D and of L below the block, without its ones; +0 stands before the diagonal. `pivots` has p + 1 for
a block of one, and for one of two n + p + 1 and then 0.
*/

/*! ldl_solve
Solutions x of A x = b for the rows b of `rows`, by `factors` and `pivots` as of `ldl`. All is computed in double; results of float32 are
rounded once. l_ik are the numbers of row k of `factors`. From k = 0 on, with p the pivot there:

- p up to n: b_k and b_p-1 are exchanged unless p is 0; then b_i = `fma(-l_ik, b_k, b_i)` for i > k, and b_k = `b_k / l_kk`.
- p above n, and k not the last: b_k+1 and b_p-n-1 are exchanged; b_i = `fma(-l_ik, b_k, b_i)`, then `fma(-l_i,k+1, b_k+1, b_i)`, for i > k + 1. With
  c = l_k+1,k, f = `l_kk / c`, e = `l_k+1,k+1 / c`, g = `b_k / c` and h = `b_k+1 / c`, b_k = `(e * g - h) / (f * e - 1)` and b_k+1 = `(f * h - g) / (f *
  e - 1)`. k becomes k + 2. At the last place p is p - n.

Then from the last block to the first: b_k = `fma(-l_ik, b_i, b_k)` for all i behind the block, ascending, for the second place of a block of
two and then for its first; and the exchanges again, of a block of two at its second place.
*/

/*! complex_ldl
`ldl` of complex numbers, pairs in a last dimension of size 2: sizes are the sums of those of the parts, products, quotients and
differences those of `complex_mul`, `complex_div` and `complex_sub`, and `fma(-x, y, a)` is `Less(a; x, y)`, as in `complex_lu`; 1 / (e f - 1)
and what is taken from e f are 1 + 0i. For `hermitian` it is L D Lᴴ of a Hermitian matrix:

- Imaginary parts of the diagonal count as +0, and are +0 in results. What crosses the diagonal in an exchange, and a_pq, becomes its
  conjugate.
- A block of one divides both parts by the real part of a_kk. x_j and y_j, in what is taken from a_ij, are their conjugates.
- A block of two: with d the `hypot` of the parts of b, g = b / d, e and f the quotients of real parts by d, and t = `1 / (e * f - 1) / d`, u_i = `(e *
  x_i - g * y_i) * t` and v_i = `(f * y_i - conj(g) * x_i) * t`, where e, f and t multiply both parts.
*/

/*! complex_ldl_solve
`ldl_solve` of complex numbers, in the steps of `complex_ldl`. For `hermitian`, a block of one divides by the real part of l_kk, f =
`l_kk / conj(c)` and g = `b_k / conj(c)`; and on the way back l_ik are their conjugates.
*/

namespace repdl {

/// input (…, n, n); factors (…, n, n), pivots int64 (…, n), info int64 (…).
Specs InferLdl(const TensorView& input);
void Ldl(const TensorView& input, Out factors, Out pivots, Out info);

/// factors (…, n, n), pivots int64 (…, n), rows (…, m, n); output as rows.
Specs InferLdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows);
void LdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, Out output);

/// The same of pairs: tensors of numbers have 2 behind their shapes.
Specs InferComplexLdl(const TensorView& input, bool hermitian);
void ComplexLdl(const TensorView& input, bool hermitian, Out factors, Out pivots, Out info);

Specs InferComplexLdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool hermitian);
void ComplexLdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool hermitian,
                     Out output);

}  // namespace repdl
