// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

// The contracts stand in src/numerics/functions/standard_gamma_grad.lane.h and dirichlet_grad.lane.h.

namespace repdl {

/// Operands are float32, bfloat16 or float16, or all float64; BroadcastSpec says what the result is.
Specs InferStandardGammaGrad(const TensorView& input, const TensorView& output);
void StandardGammaGrad(const TensorView& input, const TensorView& output, Out grad);

Specs InferDirichletGrad(const TensorView& x, const TensorView& alpha, const TensorView& total);
void DirichletGrad(const TensorView& x, const TensorView& alpha, const TensorView& total, Out grad);

}  // namespace repdl
