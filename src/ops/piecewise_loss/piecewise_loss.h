// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! smooth_l1
The terms of smooth_l1_loss. With `d = |input - target|`, b = beta and h = beta / 2, each rounded as a number parameter is:
`((d * 0.5) * d) / b` if d < b, else `d - h`. The operands are broadcast.
*/

/*! smooth_l1_grad
With g the gradient of a term, `d = input - target`, and b = beta and p = part, rounded as number parameters are: `-(p * g)` if
d ≤ -b, `p * g` if d ≥ b, else `((p * d) * g) / b`. The operands are broadcast.
*/

/*! huber
The terms of huber_loss. With `d = |input - target|`, b = delta and h = delta / 2, each rounded as a number parameter is:
`(d * 0.5) * d` if d ≤ b, else `(d - h) * b`. The operands are broadcast.
*/

/*! huber_grad
With g the gradient of a term, `d = input - target`, and b = delta and p = part, rounded as number parameters are:
`-((p * g) * b)` if d ≤ -b, `(p * g) * b` if d ≥ b, else `(p * d) * g`. The operands are broadcast.
*/

namespace repdl {

/// Operands are float32, bfloat16 or float16, computed as float32, or all float64; BroadcastSpec says what the result is.
/// `part` multiplies the gradient: of a mean it is one over the number of terms.
Specs InferSmoothL1(const TensorView& input, const TensorView& target, double beta);
void SmoothL1(const TensorView& input, const TensorView& target, double beta, Out output);
Specs InferSmoothL1Grad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double beta,
                        double part);
void SmoothL1Grad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double beta,
                  double part, Out grad_input);

Specs InferHuber(const TensorView& input, const TensorView& target, double delta);
void Huber(const TensorView& input, const TensorView& target, double delta, Out output);
Specs InferHuberGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double delta,
                     double part);
void HuberGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double delta,
               double part, Out grad_input);

}  // namespace repdl
