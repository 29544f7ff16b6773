// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! multi_margin
For each row x of input, with t its target and m = margin, rounded as a number parameter is: `rⱼ = max((m - x[t]) + xⱼ, 0)`, of NaN NaN,
for classes j other than t. The loss of the row is `Sum(rⱼ) / c` with c the number of classes; with p = 2 the terms are `rⱼ * rⱼ`. If there is
a weight, they are multiplied by weight[t]. The term of t is +0.
*/

/*! multi_margin_grad
With r as in multi_margin, `sⱼ` is 1 if rⱼ > 0, else +0; with p = 2 it is `rⱼ * 2`. If there is a weight, it is multiplied by weight[t].
Then it is divided by c. With +0 in the place of s_t, `-Sum(sⱼ)` becomes s_t. With g the gradient of the row's loss and q = part, rounded
as a number parameter is: `grad_input[j] = sⱼ * (q * g)`.
*/

/*! multilabel_margin
For each row x of input, its labels are the targets before the first -1, in their order. For each label l and class j that is no label,
`r = max((1 - x[l]) + xⱼ, 0)`, of NaN NaN; for j that is a label r is +0. `loss = Sum(r) / c`, label by label and by class within a label, c being
the number of classes. is_target is 1 for classes that are labels, else +0.
*/

/*! multilabel_margin_grad
With r as in multilabel_margin, let n be, for a class that is no label, the number of labels for which r > 0; for a label, minus the number of
classes for which its r > 0, as often as it is one. With g the gradient of the row's loss, c the number of classes and q = part, rounded
as a number parameter is: `grad_input[j] = (n / c) * (q * g)`.
*/

namespace repdl {

/// input (n, c), float32 or float64; target (n), int64 classes; weight (c); p is 1 or 2. The result is (n).
/// `part` multiplies the gradient: of a mean it is one over the number of rows.
Specs InferMultiMargin(const TensorView& input, const TensorView& target, int64_t p, double margin,
                       const std::optional<TensorView>& weight, Order order);
void MultiMargin(const TensorView& input, const TensorView& target, int64_t p, double margin,
                 const std::optional<TensorView>& weight, Order order, Out output);
Specs InferMultiMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, int64_t p,
                           double margin, const std::optional<TensorView>& weight, double part, Order order);
void MultiMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, int64_t p,
                     double margin, const std::optional<TensorView>& weight, double part, Order order, Out grad_input);

/// target (n, c), int64: classes, then -1.
Specs InferMultilabelMargin(const TensorView& input, const TensorView& target, Order order);
void MultilabelMargin(const TensorView& input, const TensorView& target, Order order, Out output, Out is_target);
Specs InferMultilabelMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target,
                                double part);
void MultilabelMarginGrad(const TensorView& grad_output, const TensorView& input, const TensorView& target, double part,
                          Out grad_input);

}  // namespace repdl
