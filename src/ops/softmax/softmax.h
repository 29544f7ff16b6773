// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

/*! softmax
Along dimension `dim`, with m the largest xᵢ: `eᵢ = exp(xᵢ - m)`, `output[i] = eᵢ / Sum(e)`. A NaN anywhere in the row, or
m = ±inf, makes NaN as the formula says.
*/

/*! softmax_grad
With g the gradient of the output y of softmax: `t = Sum(gᵢ * yᵢ)`, `grad_input[i] = (gᵢ - t) * yᵢ`.
*/

/*! log_softmax
Along dimension `dim`, with m the largest xᵢ: `output[i] = (xᵢ - m) - log(Sum(exp(xᵢ - m)))`.
*/

/*! log_softmax_grad
With g the gradient of the output y of log_softmax: `t = Sum(gᵢ)`, `grad_input[i] = gᵢ - exp(yᵢ) * t`.
*/

namespace repdl {

/// output has the shape of input; dim counts from the end if negative.
Specs InferSoftmax(const TensorView& input, int64_t dim, Order order);
void Softmax(const TensorView& input, int64_t dim, Order order, Out output);
Specs InferLogSoftmax(const TensorView& input, int64_t dim, Order order);
void LogSoftmax(const TensorView& input, int64_t dim, Order order, Out output);

Specs InferSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order);
void SoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order, Out grad_input);
Specs InferLogSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order);
void LogSoftmaxGrad(const TensorView& grad_output, const TensorView& output, int64_t dim, Order order, Out grad_input);

}  // namespace repdl
