// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! eig
Eigenvalues and eigenvectors of each matrix A = `input`, n x n, as pairs of real and imaginary parts. All is computed in
double; results of float32 are rounded once. Numbers that are not finite, `info` = -1, and the power of 2 by which A is
divided and both parts of the values are multiplied, are those of `eigh`.

- *Balance*. lo = 0, hi = n-1. While lo < hi and a row i of lo … hi, the last of them, has a_ij = 0 for all other j of lo
  … hi, i and hi are exchanged, among the rows and among the columns, and hi is lowered by one. Then, while lo < hi and a
  column j of lo … hi, the first of them, has a_ij = 0 for all other i of lo … hi, j and lo are exchanged likewise, and lo
  is raised by one. All b_i = 0. Then up to 32 times, until it changes nothing, for i = lo … hi: c and r are the roots of
  the squares of a_ji and of a_ij, j = lo … hi, each square taken in from +0 by fma. Unless one is 0: s = `c + r`, k = 0;
  while c < r * 0.5 and b_i + k < 200: k is raised by one, c doubled and r halved; while c * 0.5 >= r and b_i + k > -200:
  k is lowered by one, c halved and r doubled. If `c + r` < 0.95 `* s`, b_i grows by k, column i is multiplied by 2^k
  and row i by 2^-k.
- *Hessenberg form*, for k = lo … hi-2: the reflection is that of `geqrf` for a_ik, i = k+1 … hi; where the squares
  behind its first number are at most 2^-800 together, τ = 0. a_{k+1,k} is what becomes of its first number, and the
  others become 0. The columns j > k are reflected as in `geqrf`. Then, for i = 0 … hi: q = `τ * Inner(a_i, v)` over j =
  k+1 … hi, as in `svd`, and a_ij becomes `fma(-q, v_j, a_ij)`.
- *Sweeps*. m = hi. l is the largest of lo+1 … m for which |a_{l,l-1}| is at most 2^-400 or 2^-53 `* (|a_{l-1,l-1}| +
  |a_ll|)`, and it becomes 0; if there is none, l = lo. If l = m, a_mm is a value, and m is lowered by one; if l = m-1, the
  values are those of a block of two, and m is lowered by two; all this until m < lo. Else a sweep is done, number t, from
  1, since m was lowered. After 40 n sweeps the search is given up, `info` is 1, and all results are NaN; else `info` is 0.
- *A sweep*. x = a_mm, y = a_{m-1,m-1}, w = `a_{m,m-1} * a_{m-1,m}`; but if 10 divides t, with s = `|a_{m,m-1}| +
  |a_{m-1,m-2}|`, x = y = `a_mm + 0.75 * s`, w = -0.4375 `* (s * s)`. It begins in row k, the largest of l … m-2 that is
  l or has `|a_{k,k-1}| * (|q| + |r|)` at most 2^-53 `* (|p| * ((|a_{k-1,k-1}| + |z|) + |a_{k+1,k+1}|))`, where z = a_kk,
  f = `x - z`, g = `y - z`, p = `(f * g - w) / a_{k+1,k} + a_{k,k+1}`, q = `((a_{k+1,k+1} - z) - f) - g`, r =
  a_{k+2,k+1}, all three then divided by `(|p| + |q|) + |r|`. For j = k … m-1 a reflection of three numbers, of two if j =
  m-1, with 1, v_1, v_2, τ as in `geqrf`, τ = 0 where the squares behind the first are at most 2^-800 together: of p, q, r
  if j = k, else of a_{j,j-1} and those below, which become its result and zeros. If j = k > l, a_{k,k-1} is multiplied by
  `1 - τ`. Rows j, j+1, j+2 of the columns from j on are reflected, and then columns j, j+1, j+2 of the rows 0 …
  min(j+3, m).
- *Two values*. Of a, b over c, d: p = `0.5 * (a - d)`, w = `b * c`, q = `p * p + w`, z = `sqrt(|q|)`. If q < 0 the values
  are `d + p`, with z and -z. Else z becomes `p - z` if p < 0, else `p + z`; the values are `d + z` and, `d - w / z` or, if
  z = 0, the same; and with C, S the rotation of z by c, as in `eigh`, rows u, v of all columns from a's on become `fma(C,
  u, S * v)` and `fma(C, v, -(S * u))`, then columns likewise, of the rows up to c's; c becomes 0, a and d the values.
- *Vectors*. Each row of the identity goes through all reflections and rotations of columns, as in `eigh`: Z. Complex
  products are `(ac - bd) + (ad + bc)i`, quotients `complex_div`. For a value h in row k: x_k = 1; for two with parts g
  and z in rows k-1, k, h = g + zi, and x_{k-1}, x_k are `((g - d) + zi) / c`, by parts, and 1, or, if |c| < |b|, 1 and
  `((g - a) + zi) / b`. The numbers before are 0. For the rows i before, the last one first, or two rows where these
  have a pair of values: the x_j that were found since, j descending, leave `fma(-a_ij, x_j, x_i)` in all rows before them,
  part by part. Then x_i becomes `x_i / (a_ii - h)`; of two rows x, y with a, b over c, d: f = `a - h`, g = `d - h`; if
  |c| < |Re f| + |Im f|, t = `c / f`, y = `(y - t * x) / (g - t * b)`, x = `(x - b * y) / f`; else t = `f / c`, u = `(x
  - t * y) / (b - t * g)`, x = `(y - g * u) / c`, y = u. A divisor whose parts have a sum of sizes less than e becomes e
  = 2^-52 `* (|Re h| + |Im h|)`, or 2^-400 if that is more; c keeps its sign. Where parts of one of the new numbers
  have a sum of sizes above 2^100, all x are divided by the power of 2 above the largest such sum.
- v_i = +0, then `fma(z_ij, x_j, v_i)` for j ascending to k, part by part; for i = lo … hi times 2^b_i; and the exchanges
  are undone. r = `sqrt(s)`, s from +0 by `fma(Re v_i, Re v_i, s)` and then the same of Im, i ascending. Of the first v_i
  with the largest `Re * Re + Im * Im` = q, f = `sqrt(q)`, c = `Re v_i / f`, s = `Im v_i / f`; it becomes `f / r`, and the
  others `(Re * c + Im * s) / r` and `(Im * c - Re * s) / r`. So the length is 1 and the largest number is positive.

The values stand in the order of the rows, of two the one with the positive imaginary part first; its vector is the
conjugate of the other one's. No zero is -0. Row i of `vectors` is the eigenvector of value i.
*/

/*! eigvals
The `values` and `info` of `eig`.
*/

/*! complex_eig
Eigenvalues and eigenvectors of each complex matrix A = `input`, n x n. Scale, balance, and all but the steps below are
those of `eig`, where a number is 0 if both parts are, the power of 2 is above all |parts|, a square is that of the real
part, and then that of the imaginary one, and |x| is the sum of the sizes of the parts. Products are `complex_mul`, quotients
`complex_div`; `Less` is that of `complex_lu`, and `z + p q` is `Less(z; -p, q)`.

- *Hessenberg form*, for k = lo … hi-2: the reflection is that of `complex_geqrf` for a_ik, i = k+1 … hi; where all that is
  squared is at most 2^-800 together, τ = 0. a_{k+1,k} is the real number that becomes of its first one, and the others
  become 0. For each column j > k: w = a_{k+1,j}, then `w + conj(v_i) a_ij` for i ascending, t_j = `conj(τ) * w`, and a_ij
  becomes `Less(a_ij; v_i, t_j)`. Then, for i = 0 … hi: q = `τ * Inner(a_i, v)` over j = k+1 … hi, as in `complex_svd`, and
  a_ij becomes `Less(a_ij; q, conj(v_j))`.
- *Sweeps* are those of `eig`; a block of two is swept like any other.
- *A sweep* is for the shift s = a_mm; but if 10 divides t, s = `a_mm + 0.75 * |a_{m,m-1}|`; else, with w = `a_{m-1,m} *
  a_{m,m-1}` unless it is 0, p = `0.5 * (a_{m-1,m-1} - s)`, z = the root of `p * p + w`, and of -z if `Re p * Re z + Im p *
  Im z` < 0, s becomes `s - w / (p + z)`. The root of x: r = `sqrt(Re x * Re x + Im x * Im x)`, g = `sqrt((r + |Re x|) *
  0.5)`, h = `Im x / (2 * g)`; it is g + hi if Re x >= 0, else |h| + gi with the sign of Im x; 0 if g = 0. For j = l …
  m-1 a reflection of two numbers with 1, v, τ as above: of `a_ll - s`, a_{l+1,l} if j = l, else of a_{j,j-1}, a_{j+1,j-1},
  which become its result and 0. The rows j, j+1 of the columns from j on are x, y: with t = `conj(τ) * (x + conj(v) y)`, x
  becomes `x - t` and y `Less(y; v, t)`. Then the columns j, j+1 of the rows 0 … min(j+2, m): t = `τ * (x + v y)`, `x - t`,
  `Less(y; conj(v), t)`.
- *Vectors*. Each row of the identity goes through all reflections: of those of the Hessenberg form, t = `τ * (x_{k+1} + v_j
  x_j + …)` for j ascending, and x_j becomes `Less(x_j; conj(v_j), t)`; then those of two columns: Z. For value h in row k:
  x_k = 1, and the numbers before are 0. For the rows i before, the last one first: the x_j that were found since, j
  descending, leave `Less(x_i; x_j, a_ij)` in all rows before them; then x_i becomes `x_i / (a_ii - h)`, of which a divisor
  with a size below e becomes e. v_i = +0, then `v_i + x_j z_ij` for j ascending to k.

The values stand in the order of the rows.
*/

/*! complex_eigvals
The `values` and `info` of `complex_eig`.
*/

namespace repdl {

/// input (…, n, n); values (…, n, 2), vectors (…, n, n, 2), info int64 (…).
Specs InferEig(const TensorView& input);
void Eig(const TensorView& input, Out values, Out vectors, Out info);

/// input (…, n, n); values (…, n, 2), info int64 (…).
Specs InferEigvals(const TensorView& input);
void Eigvals(const TensorView& input, Out values, Out info);

/// The same of pairs: input (…, n, n, 2).
Specs InferComplexEig(const TensorView& input);
void ComplexEig(const TensorView& input, Out values, Out vectors, Out info);
Specs InferComplexEigvals(const TensorView& input);
void ComplexEigvals(const TensorView& input, Out values, Out info);

}  // namespace repdl
