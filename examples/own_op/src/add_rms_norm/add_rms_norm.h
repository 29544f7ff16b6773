// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

// The contract of add_rms_norm. `sum = input + residual`. For each row of the N values x of sum along the last dimension:
// `rstd = 1 / sqrt(Sum(x * x) * r + eps)` with r = 1 / N, the quotient in double, rounded to the type of x. Then
// `output = (x * rstd) * weight`. The outputs are output, sum and rstd.

namespace own_op {

/// input, residual (…, N) and weight (N): float32 or float64; rstd (…, 1).
repdl::Specs InferAddRmsNorm(const repdl::TensorView& input, const repdl::TensorView& residual,
                             const repdl::TensorView& weight, double eps, repdl::Order order);
void AddRmsNorm(const repdl::TensorView& input, const repdl::TensorView& residual, const repdl::TensorView& weight,
                double eps, repdl::Order order, repdl::Out output, repdl::Out sum, repdl::Out rstd);

}  // namespace own_op
