// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! softshrink
With l = lambd, at least 0 and rounded as a number parameter is: `input - l` where input > l, `input + l` where input < -l, +0
between them, and NaN for NaN.
*/

/*! shrink_grad
The gradient of softshrink, and of hardshrink: with l = lambd, rounded as a number parameter is, `+0` where -l ≤ input ≤ l, else
grad_output. The operands are broadcast.
*/

/*! hardtanh_grad
`+0` where input ≤ min_val or input ≥ max_val, which are rounded as number parameters are, else grad_output, also for NaN.
The operands are broadcast.
*/

/*! hardsigmoid
`clamp(input + 3, 0, 6) / 6`, each rounded once.
*/

/*! hardsigmoid_grad
`grad_output * s` where -3 < input < 3, with s = 1 / 6 rounded to float32, also of float64; else +0, also for NaN. The operands
are broadcast.
*/

/*! hardswish
`(input * clamp(input + 3, 0, 6)) / 6`, each rounded once.
*/

/*! hardswish_grad
`+0` where input ≤ -3, `grad_output * ((input / 3) + 0.5)` where -3 < input < 3, else grad_output, also for NaN. The operands
are broadcast.
*/

/*! scaled_elu
With c = alpha * scale, rounded to a double first and then as a number parameter is, s = scale and t = input_scale, rounded
likewise: `input * s` where input > 0, else `e * c`, with e = exp(input * t) - 1 of the rounded product, correctly rounded.
*/

/*! scaled_elu_grad
With c, s and t as of scaled_elu, x = self_or_result and g = grad_output: `g * s` where x > 0 and for NaN; else, if is_result,
`(g * t) * (x + c)`, and if not, `(g * u) * e`, with u = input_scale * (alpha * scale), rounded to a double and then as a number
parameter is, and e = exp(x * t) of the rounded product, correctly rounded. The operands are broadcast.
*/

/*! logit_grad
`grad_output / (input * (1 - input))`. Without eps it is NaN where input < 0 or input > 1, and the product is +0 where input is a
zero of either sign. With eps it is +0 where input < eps or input > 1 - eps, each rounded as a number parameter is. The operands
are broadcast.
*/

/*! scaled_softplus
With b = beta and t = threshold, each rounded as a number parameter is, and s = input * b, rounded: input where s > t, else
`log(1 + exp(s)) / b`, of the correctly rounded logarithm.
*/

/*! scaled_softplus_grad
With s and t as of scaled_softplus: grad_output where s > t, else `grad_output * sigmoid(s)`, sigmoid correctly rounded. The
operands are broadcast.
*/

namespace repdl {

/// Operands are float32, bfloat16 or float16, computed as float32, or all float64; BroadcastSpec says what the result is.
Specs InferSoftshrink(const TensorView& input, double lambd);
void Softshrink(const TensorView& input, double lambd, Out output);

Specs InferShrinkGrad(const TensorView& grad_output, const TensorView& input, double lambd);
void ShrinkGrad(const TensorView& grad_output, const TensorView& input, double lambd, Out grad_input);

Specs InferHardtanhGrad(const TensorView& grad_output, const TensorView& input, double min_val, double max_val);
void HardtanhGrad(const TensorView& grad_output, const TensorView& input, double min_val, double max_val,
                  Out grad_input);

Specs InferHardsigmoid(const TensorView& input);
void Hardsigmoid(const TensorView& input, Out output);

Specs InferHardsigmoidGrad(const TensorView& grad_output, const TensorView& input);
void HardsigmoidGrad(const TensorView& grad_output, const TensorView& input, Out grad_input);

Specs InferHardswish(const TensorView& input);
void Hardswish(const TensorView& input, Out output);

Specs InferHardswishGrad(const TensorView& grad_output, const TensorView& input);
void HardswishGrad(const TensorView& grad_output, const TensorView& input, Out grad_input);

Specs InferScaledElu(const TensorView& input, double alpha, double scale, double input_scale);
void ScaledElu(const TensorView& input, double alpha, double scale, double input_scale, Out output);

/// The arguments stand in the order of torch's elu_backward.
Specs InferScaledEluGrad(const TensorView& grad_output, double alpha, double scale, double input_scale, bool is_result,
                         const TensorView& self_or_result);
void ScaledEluGrad(const TensorView& grad_output, double alpha, double scale, double input_scale, bool is_result,
                   const TensorView& self_or_result, Out grad_input);

Specs InferLogitGrad(const TensorView& grad_output, const TensorView& input, std::optional<double> eps);
void LogitGrad(const TensorView& grad_output, const TensorView& input, std::optional<double> eps, Out grad_input);

Specs InferScaledSoftplus(const TensorView& input, double beta, double threshold);
void ScaledSoftplus(const TensorView& input, double beta, double threshold, Out output);

Specs InferScaledSoftplusGrad(const TensorView& grad_output, const TensorView& input, double beta, double threshold);
void ScaledSoftplusGrad(const TensorView& grad_output, const TensorView& input, double beta, double threshold,
                        Out grad_input);

}  // namespace repdl
