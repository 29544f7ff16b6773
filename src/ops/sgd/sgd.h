// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! sgd_step
One step of SGD on one parameter, in place, element by element. Constants are computed in double and rounded to float32. With
g the gradient, negated first if `maximize`:

```
g      = fma(weight_decay, param, g)                   # left out if weight_decay = 0
buffer = g on the first step, else fma(1 - dampening, g, buffer * momentum)    # only with a momentum buffer
g      = fma(momentum, buffer, g) if nesterov, else buffer                     # only with a momentum buffer
param  = fma(-lr, g, param)
```
*/

namespace repdl {

/// All tensors have one shape. `first_step` says that momentum_buffer holds nothing yet.
Specs InferSgdStep(const InOut& param, const TensorView& grad, const std::optional<InOut>& momentum_buffer,
                   bool first_step, double lr, double momentum, double dampening, double weight_decay, bool nesterov,
                   bool maximize);
void SgdStep(InOut param, const TensorView& grad, const std::optional<InOut>& momentum_buffer, bool first_step,
             double lr, double momentum, double dampening, double weight_decay, bool nesterov, bool maximize);

}  // namespace repdl
