// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! cross_entropy
The class dimension is the second one, or the only one. For each sample, with x its C class scores and m the largest:
`dᵢ = xᵢ - m`, `l = log(Sum(exp(dᵢ)))`, and the loss of class i is `l - dᵢ`. Write wᵢ for `weight[i]`, s for
`label_smoothing`, and a = float32(1 - s), b = float32(s / C), both quotients and differences in double.

Target classes (int64). A sample whose target t is `ignore_index` has the loss +0. Otherwise its loss is
`v = wₜ * (l - dₜ)`, or `v = l - dₜ` without weights. With s ≠ 0 it is `a * v + b * Sum(wᵢ * (l - dᵢ))` (without weights,
`Sum(l - dᵢ)`).

Target probabilities (float32). With tᵢ the target, or `a * tᵢ + b` if s ≠ 0, the loss is `Sum(wᵢ * (tᵢ * (l - dᵢ)))`
(without weights, `Sum(tᵢ * (l - dᵢ))`).

`reduction="none"` gives the losses; `"sum"` their Sum in row-major order of the samples; `"mean"` that Sum times
`float32(1 / M)`, the quotient in double, with M the number of samples that are not ignored, or of all of them for
probabilities. Only for classes with weights is the mean the Sum divided by the Sum of wₜ over all samples (+0 for an
ignored one). A mean over no samples is NaN.
*/

/*! cross_entropy_grad
The gradient by the scores, with g the gradient of the loss, or of the loss of the sample for `reduction="none"`. With d as
above: `pᵢ = exp(dᵢ) / Sum(exp(dᵢ))`. The factor f is `float32(1 / M)` for `"mean"`, else 1.

- Classes, no weights, s = 0: `((pᵢ - δᵢ) * f) * g`, with δᵢ = 1 for i = t, else 0.
- Classes otherwise: with W = Sum(wᵢ) (float32(C) without weights) and wᵢ = 1 without weights,
  `uᵢ = wₜ * (pᵢ - δᵢ)`, and if s ≠ 0 `uᵢ = a * uᵢ + b * (pᵢ * W - wᵢ)`; the gradient is `(uᵢ * f) * g`. For `"mean"` with
  weights f is `1 / S`, S the Sum of wₜ over all samples as above.
- Probabilities: with qᵢ = wᵢ * tᵢ (tᵢ without weights; tᵢ smoothed as above), `((pᵢ * Sum(qᵢ) - qᵢ) * f) * g`.

The gradient of an ignored sample is +0.
*/

/*! nll_loss
Samples as for cross_entropy, with x the scores and t the target class (int64). The weight w of a sample is `weight[t]`,
1 without weights, and +0 if t is `ignore_index`. Its loss is `-xₜ * w`, with +0 in the place of xₜ if w is 0.
`reduction="none"` gives the losses; `"sum"` their Sum in row-major order of the samples; `"mean"` that Sum divided by
`total_weight`, the Sum of w over all samples. With `"none"` `total_weight` is +0.
*/

/*! nll_loss_grad
The gradient by the scores, with g the gradient of the loss, or of the loss of the sample for `reduction="none"`; for
`"mean"` g is `grad_output / total_weight`. By the score of the target class of a sample it is `-w * g`, or +0 if w is 0; by
all others +0.
*/

namespace repdl {

/// input (n, c, …), (n, c) or (c); target int64 of the same shape without c, or of its dtype and shape;
/// weight (c); reduction "none", "mean" or "sum".
/// A class that is none raises ValueError. On a CUDA device, for which no op waits, it stops the kernel instead, and a
/// later call finds that the device has failed.
Specs InferCrossEntropy(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
                        int64_t ignore_index, std::string_view reduction, double label_smoothing, Order order);
void CrossEntropy(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
                  int64_t ignore_index, std::string_view reduction, double label_smoothing, Order order, Out loss);

Specs InferCrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                            const std::optional<TensorView>& weight, int64_t ignore_index, std::string_view reduction,
                            double label_smoothing, Order order);
void CrossEntropyGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                      const std::optional<TensorView>& weight, int64_t ignore_index, std::string_view reduction,
                      double label_smoothing, Order order, Out grad_input);

/// Shapes as above; the target holds classes.
Specs InferNllLoss(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
                   std::string_view reduction, int64_t ignore_index, Order order);
void NllLoss(const TensorView& input, const TensorView& target, const std::optional<TensorView>& weight,
             std::string_view reduction, int64_t ignore_index, Order order, Out loss, Out total_weight);

Specs InferNllLossGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                       const std::optional<TensorView>& weight, std::string_view reduction, int64_t ignore_index,
                       const TensorView& total_weight);
void NllLossGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                 const std::optional<TensorView>& weight, std::string_view reduction, int64_t ignore_index,
                 const TensorView& total_weight, Out grad_input);

}  // namespace repdl
