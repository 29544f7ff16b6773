// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! matrix_exp
exp(A) of each matrix A = `input`, n x n. All is computed in double; results of float32 are rounded once. X Y is the
matrix of the sums, from +0, by `s = fma(x_ik, y_kj, s)` for k = 0 … n-1.

- The sum of |a_ij| over i, in their order and from +0, is largest in some column. If it is not finite, all results are
  NaN. Else p is the smallest number from 0 on for which it is below 2^p, and B = A / 2^p.
- B² = B B, B³ = B² B, B⁴ = B² B², B⁵ = B³ B². T_j, for j = 0 … 3, begins as `c * b⁵`, c = 1 / (5j + 5)!, and takes in
  B⁴, B³, B² and B, in this order, by `t = fma(c, b, t)`, c = 1 / (5j + 4)! … 1 / (5j + 1)!, all rounded to double. S_3
  = T_3, S_j = `T_j + B⁵ S_{j+1}` for j = 2, 1, 0.
- E is `1 + S_0` on the diagonal and S_0 elsewhere; p times it becomes E E. No zero of the result is -0.
*/

namespace repdl {

/// input and output (…, n, n).
Specs InferMatrixExp(const TensorView& input);
void MatrixExp(const TensorView& input, Out output);

}  // namespace repdl
