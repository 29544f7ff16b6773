// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

/*! weight_norm
For each place along `dim`, the first or the last dimension of v, with x the values there in row-major order of the other
dimensions: `norm = sqrt(Sum(x * x))` and `output = x * (g / norm)`. The outputs are output and norm.
*/

/*! weight_norm_grad
The gradients of weight_norm by v and g. For each place along `dim`, with x as there and u the gradient of the output:
`a = Sum(u * x)`, `grad_v = (g / norm) * (u - x * (a / (norm * norm)))` and `grad_g = a / norm`.
*/

namespace repdl {

/// g and norm have the shape of v with 1 for each dimension but dim.
Specs InferWeightNorm(const TensorView& v, const TensorView& g, int64_t dim, Order order);
void WeightNorm(const TensorView& v, const TensorView& g, int64_t dim, Order order, Out output, Out norm);

Specs InferWeightNormGrad(const TensorView& grad_output, const TensorView& v, const TensorView& g,
                          const TensorView& norm, int64_t dim, Order order);
void WeightNormGrad(const TensorView& grad_output, const TensorView& v, const TensorView& g, const TensorView& norm,
                    int64_t dim, Order order, Out grad_v, Out grad_g);

}  // namespace repdl
