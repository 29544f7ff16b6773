// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! svd
A = U S Vᵀ of each matrix A = `input`, m x n. With m < n, it is that of Aᵀ, with U and V exchanged; below m >= n. All is
computed in double; results of float32 are rounded once. Numbers that are not finite, `info` = -1, and the power of 2 by
which A is divided are those of `eigh`, as is a *rotation*.

- With m > n, A = Q R as in `geqrf` without pivots, and R, n x n with zeros below the diagonal, takes the place of A. In
  all reflections, τ = 0 also where the squares below are at most 2^-800 together.
- *Bidiagonal form*, for k = 0 … n-1: the reflection of column k, a_ik for i = k … n-1, and d_k, what becomes of its
  first number, and the columns j > k are reflected, both as in `geqrf`. Then the reflection of row k, a_kj for j = k+1
  … n-1, with v_{k+1} = 1, and e_k what becomes of its first number. For i > k: q = `τ * Inner(a_i, v)` over j = k+1 …
  n-1, and a_ij becomes `fma(-q, v_j, a_ij)`. `Inner(x, y)`: 16 lanes start from +0; number i of x and y, from 0, gives
  to lane i mod 16 `acc = fma(x_i, y_i, acc)`; then for h = 8, 4, 2, 1: `lane[j] = lane[j] + lane[j + h]` for j < h; the
  result is lane[0].
- *Sweeps*. With t = 2^-60 times the largest |d_i| or |e_i| at first, and m = n-1: l and m as in `eigh`. A sweep: d_i
  with |d_i| <= t, i = l … m, become 0. If one did, σ = 0; else with a = |d_{m-1}|, b = |d_m|, e = e_{m-1}: x = `sqrt((a
  + b) * (a + b) + e * e)`, y = `sqrt((a - b) * (a - b) + e * e)`, σ = `(a * b) / ((x + y) * 0.5)`. f = d_l if σ = 0,
  else `(|d_l| - σ) * (sign(d_l) + σ / d_l)`; g = e_l. For i = l … m-1: c, s, r is the rotation of f by g, one of V, and
  e_{i-1} = r if i > l; `f = c * d_i + s * e_i`, `e_i = c * e_i - s * d_i`, `g = s * d_{i+1}`, `d_{i+1} = c * d_{i+1}`;
  c, s, r is the rotation of f by g, one of U; d_i = r; `f = c * e_i + s * d_{i+1}`, `d_{i+1} = c * d_{i+1} - s * e_i`;
  and unless i = m-1: `g = s * e_{i+1}`, `e_{i+1} = c * e_{i+1}`. In the end e_{m-1} = f. After 40 n sweeps `info` is 1,
  and d is taken as it is; else `info` is 0.
- The singular values are |d_i|, the largest first; equal ones keep their places.
- *Vectors*. U and V, n x n, come from their reflections and rotations as in `eigh`. With m > n, each column of U, with
  m - n zeros behind it, goes through the reflections of Q, the last one first; with `full` U gets the columns of Q
  behind them, that of the identity likewise. Columns of U and V with d_i < 0 are negated in V; and then in both if the
  largest number in size of the column of U, the first of equals, is negative (of V where m < n: so it is always the U
  of `input`). Other columns of U are signed by themselves. No zero is -0.

Row j of `u` is column j of U, and row j of `vh` is column j of Vᵀ.
*/

/*! svdvals
The `s` and `info` of `svd`.
*/

/*! complex_svd
`svd`, A = U S Vᴴ, of matrices of complex numbers, which are pairs in a last dimension of size 2; the singular values are
real. Reflections are those of `complex_geqrf`; in all of them τ = 0 also where all that is squared is at most 2^-800
together. `2^p`, rotations and sweeps are those of `complex_eigh` and `svd`, and with m < n all is done for Aᵀ = U' S V'ᴴ, so
that U is conj(V') and V is conj(U'). `z + p q` is `Less(z; -p, q)` of `complex_lu`.

- *Bidiagonal form*. d_k is the real part of what becomes of the first number of column k, also for k = n-1. The reflection
  of row k is that of conj(a_kj), j = k+1 … n-1, also of one number, and e_k the real part of what becomes of the first.
  For i > k: q = `τ * Inner(a_i, v)`, and a_ij becomes `Less(a_ij; q, conj(v_j))`. `Inner(x, y)` has sums of `acc + x_i
  y_i` in its lanes.
- *Vectors*. Each row of the identity goes through the reflections, with conj(τ), and the rotations as in `complex_eigh`:
  the columns are those of conj(U) and conj(V). The latter are negated where d_i < 0, and U is made of the former by Q. In
  the column of U, or of conj(V') with m < n, (a, b) and s are found as in `complex_eigh`; with p = (a / s, -(b / s)), each
  other number x of the column becomes `x * p`, as in `complex_mul`, and that one s; and those of the column of conj(V), or
  U', become `x * conj(p)`.
*/

/*! complex_svdvals
The `s` and `info` of `complex_svd`.
*/

namespace repdl {

/// input (…, m, n), k = min(m, n); u (…, k, m) or if full (…, m, m), s (…, k), vh (…, n, k) or (…, n, n), info (…).
Specs InferSvd(const TensorView& input, bool full);
void Svd(const TensorView& input, bool full, Out u, Out s, Out vh, Out info);

/// input (…, m, n); s (…, min(m, n)), info int64 (…).
Specs InferSvdvals(const TensorView& input);
void Svdvals(const TensorView& input, Out s, Out info);

/// The same of pairs: input, u and vh have 2 behind them.
Specs InferComplexSvd(const TensorView& input, bool full);
void ComplexSvd(const TensorView& input, bool full, Out u, Out s, Out vh, Out info);
Specs InferComplexSvdvals(const TensorView& input);
void ComplexSvdvals(const TensorView& input, Out s, Out info);

}  // namespace repdl
