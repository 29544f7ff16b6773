// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! fake_quantize
With x = input, z = zero_point, s = scale rounded to float32, `r = 1 / s` rounded to float32, and the ends low and high rounded as
number parameters are: the step of x is `round(x * r) + z`, or with zero_first `round((x * r) + z)`, each operation rounded, and
round to whole numbers, ties to even. The output is `(held - z) * s` of the step held between the ends, and NaN of NaN; mask says
whether `low <= step` and `step <= high`. The operands are broadcast.
*/

/*! fake_quantize_grad
The gradients by each number and by its scale and zero, the latter before they are added up. With x, z, s, r and the ends as in
fake_quantize, without zero_first, g the gradient of the output and f = factor, rounded as a number parameter is: where mask is true
they are g, `((g * (output - x)) * r) * f` and +0. Elsewhere they are +0, `(g * (end - z)) * f` and `(-g * s) * f`, where end is
low if step < low, and else high, so also of NaN. The operands are broadcast.
*/

/*! quantize
With x, z, s, r and the ends as in fake_quantize: `round((x * r) + z)`, each operation rounded, held between the ends; of NaN low.
The operands are broadcast.
*/

namespace repdl {

/// Operands are float32, bfloat16 or float16, computed as float32, or all float64. The output has the type of the input, the
/// mask is bool. low is not above high.
Specs InferFakeQuantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low,
                        int64_t high, bool zero_first);
void FakeQuantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low,
                  int64_t high, bool zero_first, Out output, Out mask);

/// Operands are float32, or all float64.
Specs InferFakeQuantizeGrad(const TensorView& grad_output, const TensorView& input, const TensorView& scale,
                            const TensorView& zero_point, int64_t low, int64_t high, double factor);
void FakeQuantizeGrad(const TensorView& grad_output, const TensorView& input, const TensorView& scale,
                      const TensorView& zero_point, int64_t low, int64_t high, double factor, Out grad_input,
                      Out grad_scale, Out grad_zero_point);

/// Operands are float32, or all float64.
Specs InferQuantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low,
                    int64_t high);
void Quantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low, int64_t high,
              Out output);

}  // namespace repdl
