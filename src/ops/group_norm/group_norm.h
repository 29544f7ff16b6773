// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! group_norm
The channels (dimension 1) of each sample are split into num_groups groups of neighbours. For each group, over the N values x
of its channels and places in row-major order: `mean = Sum(x) * r` and `var = Sum((x - mean) * (x - mean)) * r` with
r = float32(1 / N), the quotient in double, and `rstd = 1 / sqrt(var + eps)`. Then
`output = ((x - mean) * rstd) * weight + bias`, with the weight and bias of the channel; without them, their operation is left
out. The outputs are output, mean and rstd.
*/

/*! group_norm_grad
The gradients of group_norm by input, weight and bias. With g the gradient of the output, r as above, `h = (x - mean) * rstd`
and `u = g * weight`, u = g without a weight: in each group of each sample `a = Sum(u)`, `b = Sum(u * h)` and
`grad_input = rstd * ((u - a * r) - h * (b * r))`; in each channel, over all samples and places in row-major order,
`grad_weight = Sum(g * h)` and `grad_bias = Sum(g)`.
*/

/*! group_norm_grad_input
The grad_input of group_norm_grad alone, where nobody asks for the gradients of weight and bias.
*/

namespace repdl {

/// input (n, c) or (n, c, …); weight, bias (c); mean, rstd (n, num_groups).
Specs InferGroupNorm(const TensorView& input, int64_t num_groups, const std::optional<TensorView>& weight,
                     const std::optional<TensorView>& bias, double eps, Order order);
void GroupNorm(const TensorView& input, int64_t num_groups, const std::optional<TensorView>& weight,
               const std::optional<TensorView>& bias, double eps, Order order, Out output, Out mean, Out rstd);

/// The number of groups is that of mean and rstd.
Specs InferGroupNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                         const TensorView& rstd, const std::optional<TensorView>& weight, Order order);
void GroupNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                   const TensorView& rstd, const std::optional<TensorView>& weight, Order order, Out grad_input,
                   Out grad_weight, Out grad_bias);

Specs InferGroupNormGradInput(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                              const TensorView& rstd, const std::optional<TensorView>& weight, Order order);
void GroupNormGradInput(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                        const TensorView& rstd, const std::optional<TensorView>& weight, Order order, Out grad_input);

}  // namespace repdl
