// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! eigh
Eigenvalues, the smallest first, and eigenvectors of each symmetric matrix A, n x n, of which the lower triangle of
`input` is read, or with `upper` the upper one. All is computed in double; results of float32 are rounded once. If a
number of the triangle is not finite, all results are NaN and `info` is -1. Else A is divided by `2^p`, the smallest
power above all |a_ij|, in two steps, by `2^h` and by `2^(p-h)`, h = floor(p / 2) (p = 0 of zeros), and the eigenvalues
are multiplied by them in the end.

- *Tridiagonal form*, for k = 0 … n-2: d_k = a_kk. The reflection of a_kj, j = k+1 … n-1, is that of `geqrf`, and e_k
  what becomes of its first number; where the squares behind it are at most 2^-800 together, τ = 0. `y_j = fma(v_i,
  a_ij, y_j)`, from +0, for i = k+1 … n-1; p_j = `τ * y_j`; g, from +0, by `g = fma(p_j, v_j, g)`; h = `(τ * 0.5) * g`;
  w_j = `fma(-h, v_j, p_j)`; and a_ij becomes `fma(-w_i, v_j, fma(-v_i, w_j, a_ij))` for i, j > k. Then d_{n-1} =
  a_{n-1,n-1}.
- *Rotation* of x by z: c = 1, s = 0, r = x if |z| < 2^-400, else r = `sqrt(x * x + z * z)`, c = `x / r`, s = `z / r`.
- *Sweeps*. With t = 2^-60 times the largest of all |d_i| and |e_i| at first, and m = n-1: l is the largest of 1 … m for
  which |e_{l-1}| is at most t or at most 2^-53 `* (|d_{l-1}| + |d_l|)`, and e_{l-1} becomes 0; if there is none, l = 0.
  If l = m, m is lowered by one, until it is 0. Else a sweep is done: g = `(d_{m-1} - d_m) / (2 * e_{m-1})`, r = `sqrt(g
  * g + 1)`, `g = (d_l - d_m) + e_{m-1} / (g + r)`, r negated first if g < 0; c = s = 1, p = 0. For i = l … m-1: f = `s
  * e_i`, b = `c * e_i`; c, s, r are the rotation of g by f, and e_{i-1} = r if i > l; `g = d_i - p`; `r = (d_{i+1} - g)
  * s + 2 * (c * b)`; `p = s * r`; `d_i = g + p`; `g = c * r - b`. In the end d_m becomes `d_m - p`, and e_{m-1} = g.
  After 40 n sweeps `info` is 1, and d is taken as it is; else `info` is 0.
- *Vectors*. Each row z of the identity goes through the reflections in their order, as those of `geqrf` (of z_{k+1} …),
  and through all rotations: `(z_i, z_{i+1})` becomes `(fma(c, z_i, s * z_{i+1}), fma(c, z_{i+1}, -(s * z_i)))`. Column
  i of the result belongs to d_i; it is negated if its largest number in size, the first of equals, is negative.

Eigenvalues are put in order; equal ones keep their places. No zero is -0. Row i of `vectors` is the eigenvector of
value i.
*/

/*! eigvalsh
The `values` and `info` of `eigh`.
*/

/*! complex_eigh
`eigh` of Hermitian matrices of complex numbers, which are pairs in a last dimension of size 2; the eigenvalues are real.
Imaginary parts on the diagonal count as +0, and `2^p` is above all |parts|. d, e, sweeps and rotations are those of `eigh`,
but for:

- *Tridiagonal form*. The reflection of column k, a_jk for j = k+1 … n-1, is that of `complex_geqrf`; where all that is
  squared is at most 2^-800 together, τ = 0. d_k and e_k are the real parts. With z = a_ji, `z + p q` is `Less(z; -p, q)`
  of `complex_lu`: y_j, from +0, becomes `y_j + v_i a_ji` for i = k+1 … n-1; p_j = `τ * y_j`, as in `complex_mul`; g, from
  +0, by `g = fma(Re y_j, Re v_j, g)` and `g = fma(Im y_j, Im v_j, g)`; h = `(fma(Re τ, Re τ, Im τ * Im τ) * 0.5) * g`;
  the parts of w_j are `fma(-h, part of v_j, part of p_j)`; and a_ji becomes `Less(Less(a_ji; conj(v_i), w_j); conj(w_i),
  v_j)` for all i, j > k.
- *Vectors*. Each row of the identity goes through the reflections, with conj(τ), also that of one number, k = n-2, and
  through the rotations, of real parts and of imaginary ones. Column i is then the conjugate of z, which belongs to d_i.
  Let (a, b) be the first of its numbers u with the largest `fma(Re u, Re u, Im u * Im u)`, and s the root of that: each
  other u becomes `u * (a / s, -(b / s))`, as in `complex_mul`, and that one s; the vector has their conjugates.
*/

/*! complex_eigvalsh
The `values` and `info` of `complex_eigh`.
*/

namespace repdl {

/// input (…, n, n); values (…, n), vectors (…, n, n), info int64 (…).
Specs InferEigh(const TensorView& input, bool upper);
void Eigh(const TensorView& input, bool upper, Out values, Out vectors, Out info);

/// input (…, n, n); values (…, n), info int64 (…).
Specs InferEigvalsh(const TensorView& input, bool upper);
void Eigvalsh(const TensorView& input, bool upper, Out values, Out info);

/// The same of pairs: input and vectors have 2 behind them.
Specs InferComplexEigh(const TensorView& input, bool upper);
void ComplexEigh(const TensorView& input, bool upper, Out values, Out vectors, Out info);
Specs InferComplexEigvalsh(const TensorView& input, bool upper);
void ComplexEigvalsh(const TensorView& input, bool upper, Out values, Out info);

}  // namespace repdl
