// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! jacobi
The rows x_0 … x_{n-1} of each matrix are rotated, two at a time, until their first `width` numbers are orthogonal. All is computed
in double; results of float32 are rounded once. `Inner(x, y)`: 16 lanes start from +0; for i = 0 … width-1, lane i mod 16 does
`acc = fma(x_i, y_i, acc)`; then for h = 8, 4, 2, 1: `lane[j] = lane[j] + lane[j + h]` for j < h; the result is lane[0].

A *sweep* begins with s_r = Inner(x_r, x_r), and limit = `m * (tolerance * tolerance)`, m the largest s_r or 1e-308. Round
t = 0 … n-1 takes the pairs of neighbours (a, b = a + 1), a = t mod 2, t mod 2 + 2, …, of rows that are there:

- c = Inner(x_a, x_b). The pair is turned if `c * c > max * limit`, max = s_b if s_a < s_b, else s_a.
- If it is: `d = s_b - s_a`, `e = c + c`, `r = sqrt(d * d + e * e)`, `t = e / (|d| + r)`, with the other sign if d < 0;
  `cos = 1 / sqrt(t * t + 1)`, `sin = cos * t`. For all numbers u of x_a and v of x_b, they become `fma(cos, u, -(sin * v))` and
  `fma(sin, u, cos * v)`; `f = t * c`, s_a becomes `s_a - f` and s_b becomes `s_b + f`.
- In any case the two rows change places, and their s.

At the end of a sweep the rows are put in reverse, which is where they were. `sweeps` is the number of the first sweep, from 1, that
turns nothing, after which the matrix is done; or 0 if that is none of 60.
*/

namespace repdl {

/// input (…, n, m); 0 <= width <= m; output (…, n, m), sweeps int64 (…).
Specs InferJacobi(const TensorView& input, int64_t width, double tolerance);
void Jacobi(const TensorView& input, int64_t width, double tolerance, Out output, Out sweeps);

}  // namespace repdl
