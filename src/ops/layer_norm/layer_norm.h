// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! layer_norm
For each row, the N values x of the trailing dimensions normalized_shape in row-major order: `mean = Sum(x) * r` and
`var = Sum((x - mean) * (x - mean)) * r` with r = float32(1 / N), the quotient in double, and `rstd = 1 / sqrt(var + eps)`.
Then `output = ((x - mean) * rstd) * weight + bias`; without weight or bias, their operation is left out.
The outputs are output, mean and rstd.
*/

/*! layer_norm_grad
The gradients of layer_norm by input, weight and bias. With g the gradient of the output, r as above, `h = (x - mean) * rstd`
and `u = g * weight`, u = g without a weight: in each row `a = Sum(u)`, `b = Sum(u * h)` and
`grad_input = rstd * ((u - a * r) - h * (b * r))`; in each column, over the rows, `grad_weight = Sum(g * h)` and
`grad_bias = Sum(g)`.
*/

/*! layer_norm_grad_input
The grad_input of layer_norm_grad alone, where nobody asks for the gradients of weight and bias.
*/

/*! rms_norm
For each row, the N values x of the trailing dimensions normalized_shape in row-major order:
`rstd = 1 / sqrt(Sum(x * x) * r + eps)` with r = float32(1 / N), the quotient in double. Then
`output = (x * rstd) * weight`; without a weight, its operation is left out. The outputs are output and rstd.
*/

/*! rms_norm_grad
The gradients of rms_norm by input and weight. With g the gradient of the output, r as above, `h = x * rstd` and
`u = g * weight`, u = g without a weight: in each row `b = Sum(u * h)` and `grad_input = rstd * (u - h * (b * r))`; in each
column, over the rows, `grad_weight = Sum(g * h)`.
*/

/*! rms_norm_grad_input
The grad_input of rms_norm_grad alone, where nobody asks for the gradient of the weight.
*/

namespace repdl {

/// weight, bias (normalized_shape); mean, rstd: the shape of input with 1 for each normalized dimension.
Specs InferLayerNorm(const TensorView& input, const IntList& normalized_shape, const std::optional<TensorView>& weight,
                     const std::optional<TensorView>& bias, double eps, Order order);
void LayerNorm(const TensorView& input, const IntList& normalized_shape, const std::optional<TensorView>& weight,
               const std::optional<TensorView>& bias, double eps, Order order, Out output, Out mean, Out rstd);

Specs InferLayerNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                         const TensorView& mean, const TensorView& rstd, const std::optional<TensorView>& weight,
                         Order order);
void LayerNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                   const TensorView& mean, const TensorView& rstd, const std::optional<TensorView>& weight, Order order,
                   Out grad_input, Out grad_weight, Out grad_bias);

Specs InferLayerNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                              const TensorView& mean, const TensorView& rstd, const std::optional<TensorView>& weight,
                              Order order);
void LayerNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                        const TensorView& mean, const TensorView& rstd, const std::optional<TensorView>& weight,
                        Order order, Out grad_input);

Specs InferRmsNorm(const TensorView& input, const IntList& normalized_shape, const std::optional<TensorView>& weight,
                   double eps, Order order);
void RmsNorm(const TensorView& input, const IntList& normalized_shape, const std::optional<TensorView>& weight,
             double eps, Order order, Out output, Out rstd);

Specs InferRmsNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                       const TensorView& rstd, const std::optional<TensorView>& weight, Order order);
void RmsNormGrad(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                 const TensorView& rstd, const std::optional<TensorView>& weight, Order order, Out grad_input,
                 Out grad_weight);

Specs InferRmsNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                            const TensorView& rstd, const std::optional<TensorView>& weight, Order order);
void RmsNormGradInput(const TensorView& grad_output, const TensorView& input, const IntList& normalized_shape,
                      const TensorView& rstd, const std::optional<TensorView>& weight, Order order, Out grad_input);

}  // namespace repdl
