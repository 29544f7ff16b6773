// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

/*! cdist
The distance of each row of `x1` from each row of `x2`: the norm of order p of their difference d, each step rounded.
- p = 2: sqrt(Sum(d · d))
- p = 1: Sum(|d|)
- p = 0: Sum(d ≠ 0), NaN counting as 1
- p = inf: the `maximum` of all |d| and +0
- else: pow(Sum(pow(|d|, p)), 1 / p), where p and the quotient of doubles 1 / p are rounded to the type of the rows.
*/

/*! cdist_grad
The gradient of `cdist` by `x1`: the Sum over the rows of `x2` of slope · grad, where the slope for a difference d = x1 − x2 is
- p = 2: d / distance
- p = 1: sign(d), where sign(0) and sign(NaN) are 0
- p = 0: 0
- p = inf: sign(d) where |d| = distance, else 0
- else: (sign(d) · pow(|d|, p − 1)) / pow(distance, p − 1), where the difference of doubles p − 1 is rounded.

For p = 2 and those not named it is 0 where the distance or d is 0. The product is computed wherever the slope is 0, too.
*/

/*! pdist
The `cdist` of each two rows of a matrix, those of the first row, then of the second and so on, each with the rows behind it.
*/

/*! pdist_grad
The gradient of `pdist`: to a row, from +0 on, slope · grad is added for its distances from the rows behind it, in their order,
then from those before it. The slope is that of `cdist_grad`, for the difference of this row from the other.
*/

namespace repdl {

/// x1 (…, m, k) and x2 (…, n, k) of one batch; output (…, m, n). p >= 0.
Specs InferCdist(const TensorView& x1, const TensorView& x2, double p, Order order);
void Cdist(const TensorView& x1, const TensorView& x2, double p, Order order, Out output);

/// distance: what Cdist gave; grad_output has its shape.
Specs InferCdistGrad(const TensorView& grad_output, const TensorView& x1, const TensorView& x2,
                     const TensorView& distance, double p, Order order);
void CdistGrad(const TensorView& grad_output, const TensorView& x1, const TensorView& x2, const TensorView& distance,
               double p, Order order, Out grad_x1);

/// input (n, k); output (n (n - 1) / 2).
Specs InferPdist(const TensorView& input, double p, Order order);
void Pdist(const TensorView& input, double p, Order order, Out output);

Specs InferPdistGrad(const TensorView& grad_output, const TensorView& input, const TensorView& distance, double p);
void PdistGrad(const TensorView& grad_output, const TensorView& input, const TensorView& distance, double p,
               Out grad_input);

}  // namespace repdl
