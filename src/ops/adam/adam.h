// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! adam_step
One step of Adam on one parameter, in place, element by element. Constants are computed in double from the double arguments
and then rounded to float32; βᵗ is the power rounded to double. With g the gradient, negated first if `maximize`:

```
g          = fma(weight_decay, param, g)                          # left out if weight_decay = 0
exp_avg    = fma(1 - beta1, g, exp_avg * beta1)
exp_avg_sq = exp_avg_sq * beta2 + (g * g) * (1 - beta2)
v          = exp_avg_sq, or with max_exp_avg_sq: v = max_exp_avg_sq = max(max_exp_avg_sq, exp_avg_sq)
denom      = sqrt(v) / sqrt(1 - beta2ᵗ) + eps
param      = param + (exp_avg / denom) * (-(lr / (1 - beta1ᵗ)))
```

`t` is `step`, 1 for the first step. `max` gives its second operand if that is greater or NaN, else the first.
*/

/*! adamw_step
adam_step with decoupled weight decay: before the rest, `param = param * float32(1 - lr * weight_decay)`, in double inside
(left out if weight_decay = 0), and no weight decay in the gradient.
*/

namespace repdl {

/// All tensors have one shape; step >= 1.
Specs InferAdamStep(const InOut& param, const TensorView& grad, const InOut& exp_avg, const InOut& exp_avg_sq,
                    const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
                    double eps, double weight_decay, bool maximize);
void AdamStep(InOut param, const TensorView& grad, InOut exp_avg, InOut exp_avg_sq,
              const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
              double eps, double weight_decay, bool maximize);
Specs InferAdamWStep(const InOut& param, const TensorView& grad, const InOut& exp_avg, const InOut& exp_avg_sq,
                     const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
                     double eps, double weight_decay, bool maximize);
void AdamWStep(InOut param, const TensorView& grad, InOut exp_avg, InOut exp_avg_sq,
               const std::optional<InOut>& max_exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
               double eps, double weight_decay, bool maximize);

}  // namespace repdl
