// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! geqrf
A = Q R of each matrix A = `input`, m x n, by Householder's reflections, and `order` = 0 … n-1. Row j of `factors` is
column j of R down to its diagonal, and below it the v_i of reflection j, whose v_j is 1; `tau` is its factor. All is
computed in double; results of float32 are rounded once. Let e be the exponent of the largest |a| of a column, or with
`pivot` of the matrix, NaN left out; where that is finite and not 0, and e below -480 or above 480, whose squares double
does not hold, the numbers are first multiplied by 2^-e, e being kept from -1000 to 1000, and in the end those of R by 2^e.
For j = 0 … min(m, n)-1:

- with `pivot`, the columns c >= j have s_c, from +0 by `s = fma(a_ic, a_ic, s)` for i = j … m-1; columns j and c of the
  first largest s_c are exchanged, whole, where NaN counts as larger than all numbers, and so are numbers j and c of
  `order`.
- d, from +0, by `d = fma(a_ij, a_ij, d)` for i = j+1 … m-1. If d is zero, τ = 0 and the column stays as it is.
- Else s = `sqrt(fma(a_jj, a_jj, d))`, r = s if a_jj < 0, else -s; τ = `(r - a_jj) / r`, v_i = `a_ij / (a_jj - r)`, and
  a_jj becomes r.
- *Reflection* of x, which are the columns j+1 … n-1: w = x_j, then `w = fma(v_i, x_i, w)` for i = j+1 … m-1; t = `τ *
  w`; x_j becomes `x_j - t`, and x_i becomes `fma(-v_i, t, x_i)`. If τ is 0, it is done all the same.
*/

/*! householder
Each row of `output` is Q x, or Qᵀ x if `adjoint`, of the row x of `rows`: the reflections of `factors` and `tau`, as
`geqrf` gives them, one after the other, the last one first or, if `adjoint`, the first one first. All is computed in
double; results of float32 are rounded once.
*/

/*! qr
Q and R of A = Q R, with as many columns and rows as `geqrf(input)` has reflections, or with `complete` m: row j of `r`
is column j of R, with +0 below the diagonal, and row j of `q` is Q x, as `householder` gives it, of row j of the
identity, from the factors of `geqrf` before these are rounded.
*/

/*! orgqr
The `columns` first columns of Q, as rows: what `householder` gives for rows of the identity.
*/

/*! complex_geqrf
`geqrf` of matrices of complex numbers, which are pairs in a last dimension of size 2, so that the diagonal of R is real. An
exponent is that of the largest |part|, and s_c takes both parts of each number, the real one first. For reflection j:

- d, from +0, by `d = fma(Re a_ij, Re a_ij, d)`, `d = fma(Im a_ij, Im a_ij, d)` for i = j+1 … m-1, and then `d = fma(Im
  a_jj, Im a_jj, d)`. If d is zero, τ = 0, the column stays as it is, and Im a_jj becomes +0.
- Else s, r and the real part of τ are those of Re a_jj; Im τ is `-(Im a_jj / r)`, v_i is a_ij divided by `(Re a_jj - r,
  Im a_jj)` as in `complex_div`, and a_jj becomes (r, +0).
- *Reflection* of x: w = x_j, then for i = j+1 … m-1, with v_i = (a, b) and x_i = (c, d): Re w becomes `fma(b, d, fma(a,
  c, Re w))` and Im w `fma(-b, c, fma(a, d, Im w))`; t is conj(τ) w, as in `complex_mul`; x_j becomes x_j - t, and x_i
  becomes `Less(x_i; v_i, t)`, as in `complex_lu`.
*/

/*! complex_householder
`householder` of complex numbers, pairs in a last dimension of size 2, by the reflections of `complex_geqrf`, with τ in the
place of conj(τ); or, if `adjoint`, Qᴴ x, with conj(τ).
*/

/*! complex_qr
`qr` of complex numbers, pairs in a last dimension of size 2, by `complex_geqrf` and `complex_householder`.
*/

/*! complex_orgqr
The `columns` first columns of Q, as rows: what `complex_householder` gives for rows of the identity.
*/

namespace repdl {

/// input (…, m, n); factors (…, n, m), tau (…, min(m, n)), order int64 (…, n).
Specs InferGeqrf(const TensorView& input, bool pivot);
void Geqrf(const TensorView& input, bool pivot, Out factors, Out tau, Out order);

/// factors (…, n, m), of which row j is read behind its number j; tau (…, k), k <= min(m, n); rows (…, r, m); output (…, r, m).
Specs InferHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint);
void Householder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint, Out output);

/// input (…, m, n), k = min(m, n) or if complete m; q (…, k, m), r (…, n, k).
Specs InferQr(const TensorView& input, bool complete);
void Qr(const TensorView& input, bool complete, Out q, Out r);

/// factors and tau as for Householder; 0 <= columns <= m; output (…, columns, m).
Specs InferOrgqr(const TensorView& factors, const TensorView& tau, int64_t columns);
void Orgqr(const TensorView& factors, const TensorView& tau, int64_t columns, Out output);

/// The same of pairs: all shapes but that of order have 2 behind them.
Specs InferComplexGeqrf(const TensorView& input, bool pivot);
void ComplexGeqrf(const TensorView& input, bool pivot, Out factors, Out tau, Out order);
Specs InferComplexHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint);
void ComplexHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint,
                        Out output);
Specs InferComplexQr(const TensorView& input, bool complete);
void ComplexQr(const TensorView& input, bool complete, Out q, Out r);
Specs InferComplexOrgqr(const TensorView& factors, const TensorView& tau, int64_t columns);
void ComplexOrgqr(const TensorView& factors, const TensorView& tau, int64_t columns, Out output);

}  // namespace repdl
