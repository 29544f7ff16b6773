// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! binary_cross_entropy
The terms of the loss. With `x = input` and `y = target`:
`max(log1p(-x), -100) * (y - 1) - max(log(x), -100) * y`, log1p and log correctly rounded, of NaN NaN; with a weight, this times
the weight. The operands are broadcast.
*/

/*! binary_cross_entropy_grad
The gradient by the input. With g the gradient of a term and p = part, rounded as a number parameter is:
`((p * g) * (x - y)) / max((1 - x) * x, 1e-12)`; with a weight, this times the weight. The operands are broadcast.
*/

/*! soft_margin
The terms of soft_margin_loss: `softplus(-target * input)`, softplus as the op of that name. The operands are broadcast.
*/

/*! soft_margin_grad
The gradient by the input. With g the gradient of a term, `y = target` and p = part, rounded as a number parameter is:
`(-y * sigmoid(-y * input)) * (p * g)`, sigmoid correctly rounded. The operands are broadcast.
*/

namespace repdl {

/// Operands are float32, bfloat16 or float16, computed as float32, or all float64; BroadcastSpec says what the result is.
/// `part` multiplies the gradient: of a mean it is one over the number of terms.
Specs InferBinaryCrossEntropy(const TensorView& input, const TensorView& target,
                              const std::optional<TensorView>& weight);
void BinaryCrossEntropy(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
                        Out output);
Specs InferBinaryCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                                  const std::optional<TensorView>& weight, double part);
void BinaryCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                            const std::optional<TensorView>& weight, double part, Out grad_input);

Specs InferSoftMargin(const TensorView& input, const TensorView& target);
void SoftMargin(const TensorView& input, const TensorView& target, Out output);
Specs InferSoftMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                          double part);
void SoftMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double part,
                    Out grad_input);

}  // namespace repdl
