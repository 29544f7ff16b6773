// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! batch_norm
For each channel (dimension 1), over the N values x of all samples and places in row-major order:
`mean = Sum(x) * float32(1 / N)` and `var = Sum((x - mean) * (x - mean)) * float32(1 / N)`, quotients in double, and
`std = sqrt(var + eps)`. Then `output = ((x - mean) / std) * weight + bias`; without weight or bias, their operation is left out.
The outputs are output, mean and var.
*/

/*! batch_norm_stats
The mean and var of batch_norm.
*/

/*! batch_norm_eval
The same with `mean` and `var` given: `std = sqrt(var + eps)`, `output = ((x - mean) / std) * weight + bias`.
*/

/*! batch_norm_grad
The gradients of batch_norm by input, weight and bias. With g the gradient of the output, std as above, and
`hᵢ = (xᵢ - mean) / std`: `grad_bias = Sum(gᵢ)`, `grad_weight = Sum(gᵢ * hᵢ)`, and
`grad_input[i] = (weight / std) * ((gᵢ - grad_bias * r) - hᵢ * (grad_weight * r))` with r = float32(1 / N). Without a weight,
1 stands for it.
*/

/*! batch_norm_eval_grad
The gradients of batch_norm_eval by input, weight and bias: grad_weight and grad_bias as in batch_norm_grad,
`grad_input[i] = (weight / std) * gᵢ`. Without a weight, 1 stands for it.
*/

/*! batch_norm_update
One step of a running statistic, in place: `running = running * float32(1 - momentum) + momentum * (value * scale)`, the
difference in double. The running variance takes scale = float32(N / (N - 1)), the quotient in double; the running mean takes
scale = 1.
*/

namespace repdl {

/// input (n, c) or (n, c, …); weight, bias, mean, var (c).
Specs InferBatchNorm(const TensorView& input, const std::optional<TensorView>& weight,
                     const std::optional<TensorView>& bias, double eps, Order order);
void BatchNorm(const TensorView& input, const std::optional<TensorView>& weight, const std::optional<TensorView>& bias,
               double eps, Order order, Out output, Out mean, Out var);

Specs InferBatchNormStats(const TensorView& input, Order order);
void BatchNormStats(const TensorView& input, Order order, Out mean, Out var);

Specs InferBatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                         const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double eps);
void BatchNormEval(const TensorView& input, const TensorView& mean, const TensorView& var,
                   const std::optional<TensorView>& weight, const std::optional<TensorView>& bias, double eps,
                   Out output);

Specs InferBatchNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                         const TensorView& var, const std::optional<TensorView>& weight, double eps, Order order);
void BatchNormGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                   const TensorView& var, const std::optional<TensorView>& weight, double eps, Order order,
                   Out grad_input, Out grad_weight, Out grad_bias);

Specs InferBatchNormEvalGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                             const TensorView& var, const std::optional<TensorView>& weight, double eps, Order);
void BatchNormEvalGrad(const TensorView& grad_output, const TensorView& input, const TensorView& mean,
                       const TensorView& var, const std::optional<TensorView>& weight, double eps, Order order,
                       Out grad_input, Out grad_weight, Out grad_bias);

Specs InferBatchNormUpdate(const InOut& running, const TensorView& value, double momentum, double scale);
void BatchNormUpdate(InOut running, const TensorView& value, double momentum, double scale);

}  // namespace repdl
