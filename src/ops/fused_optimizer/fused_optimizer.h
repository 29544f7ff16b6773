// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! fused_adam_step
One step of torch.optim.Adam on one parameter, in place, in the steps of its form for a single tensor. Each line below that assigns
rounds its operations one by one; bfloat16 and float16 are computed in float32, and what a line gives is rounded to them. Constants are
computed in double and then rounded as a number parameter is; βᵗ is the correctly rounded power, and t is `step`. With g the gradient,
negated first if `maximize`:

```
g          = g + param * weight_decay                             # left out if weight_decay = 0, or if decoupled
param      = param * (1 - lr * weight_decay)                      # if decoupled, and weight_decay is not 0
exp_avg    = lerp(exp_avg, g, 1 - beta1)
exp_avg_sq = exp_avg_sq * beta2
exp_avg_sq = exp_avg_sq + (g * (1 - beta2)) * g
v          = exp_avg_sq, or with max_exp_avg_sq: v = max_exp_avg_sq = maximum(max_exp_avg_sq, exp_avg_sq)
denom      = sqrt(v)
denom      = denom / sqrt(1 - beta2ᵗ)
denom      = denom + eps
param      = param + (exp_avg * (-(lr / (1 - beta1ᵗ)))) / denom
```

With `decoupled` it is AdamW.
*/

/*! fused_adagrad_step
One step of torch.optim.Adagrad, as fused_adam_step says:

```
g         = g + param * weight_decay                              # left out if weight_decay = 0
state_sum = state_sum + g * g
denom     = sqrt(state_sum)
denom     = denom + eps
param     = param + (g * (-(lr / (1 + (step - 1) * lr_decay)))) / denom
```
*/

/*! fused_sgd_step
One step of torch.optim.SGD, as fused_adam_step says:

```
g      = g + param * weight_decay                                 # left out if weight_decay = 0
buffer = g if first_step; else buffer = buffer * momentum, and then buffer = buffer + g * (1 - dampening)
g      = buffer, or with nesterov: g = g + buffer * momentum      # these two if there is a buffer
param  = param + g * (-lr)
```
*/

namespace repdl {

/// All tensors have one shape and dtype; any strides.
Specs InferFusedAdamStep(const InOut& param, const TensorView& grad, const InOut& exp_avg, const InOut& exp_avg_sq,
                         const std::optional<InOut>& max_exp_avg_sq, double step, double lr, double beta1, double beta2,
                         double eps, double weight_decay, bool maximize, bool decoupled);
void FusedAdamStep(InOut param, const TensorView& grad, InOut exp_avg, InOut exp_avg_sq,
                   const std::optional<InOut>& max_exp_avg_sq, double step, double lr, double beta1, double beta2,
                   double eps, double weight_decay, bool maximize, bool decoupled);

Specs InferFusedAdagradStep(const InOut& param, const TensorView& grad, const InOut& state_sum, double step, double lr,
                            double lr_decay, double eps, double weight_decay, bool maximize);
void FusedAdagradStep(InOut param, const TensorView& grad, InOut state_sum, double step, double lr, double lr_decay,
                      double eps, double weight_decay, bool maximize);

Specs InferFusedSgdStep(const InOut& param, const TensorView& grad, const std::optional<InOut>& momentum_buffer,
                        bool first_step, double lr, double momentum, double dampening, double weight_decay,
                        bool nesterov, bool maximize);
void FusedSgdStep(InOut param, const TensorView& grad, const std::optional<InOut>& momentum_buffer, bool first_step,
                  double lr, double momentum, double dampening, double weight_decay, bool nesterov, bool maximize);

}  // namespace repdl
