// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! avg_pool
The average of each window: its elements are added to +0 in row-major order, and the sum is divided once by their number;
by `divisor_override` if that is not 0. Along a dimension of size n, window k has the elements from k · stride − padding on,
`kernel_size` of them, as far as they lie in [0, n). With `count_include_pad` the number counts what lies in
[−padding, n + padding). Each step is rounded.
There are as many windows as fit into n + 2 · padding; with `ceil_mode` also a last one that reaches over the end, if it begins
before n + padding.
*/

/*! avg_pool_grad
The gradient of `avg_pool`: to an element, from +0 on, the quotients `grad / number` of the windows that have it are added,
in row-major order of the windows.
*/

/*! adaptive_avg_pool
The average of each part of the input, as of a window of `avg_pool`: the elements of the part are added to +0 in row-major
order, and the sum is divided once by their number. Along a dimension of size n with m parts, part k has the elements from
⌊k · n / m⌋ to the one before ⌈(k + 1) · n / m⌉.
*/

/*! adaptive_avg_pool_grad
The gradient of `adaptive_avg_pool`: to an element, from +0 on, the quotients `grad / number` of the parts that have it are
added, in row-major order of the parts.
*/

namespace repdl {

/// kernel_size, stride and padding have a number for each of the dimensions from `dim` on, three at most.
Specs InferAvgPool(const TensorView& input, const IntList& kernel_size, const IntList& stride, const IntList& padding,
                   bool ceil_mode, bool count_include_pad, int64_t divisor_override, int64_t dim);
void AvgPool(const TensorView& input, const IntList& kernel_size, const IntList& stride, const IntList& padding,
             bool ceil_mode, bool count_include_pad, int64_t divisor_override, int64_t dim, Out output);

/// input_size: of the pooled dimensions.
Specs InferAvgPoolGrad(const TensorView& grad_output, const IntList& input_size, const IntList& kernel_size,
                       const IntList& stride, const IntList& padding, bool ceil_mode, bool count_include_pad,
                       int64_t divisor_override, int64_t dim);
void AvgPoolGrad(const TensorView& grad_output, const IntList& input_size, const IntList& kernel_size,
                 const IntList& stride, const IntList& padding, bool ceil_mode, bool count_include_pad,
                 int64_t divisor_override, int64_t dim, Out grad_input);

/// output_size: of the dimensions from `dim` on, three at most.
Specs InferAdaptiveAvgPool(const TensorView& input, const IntList& output_size, int64_t dim);
void AdaptiveAvgPool(const TensorView& input, const IntList& output_size, int64_t dim, Out output);

/// input_size: of the pooled dimensions.
Specs InferAdaptiveAvgPoolGrad(const TensorView& grad_output, const IntList& input_size, int64_t dim);
void AdaptiveAvgPoolGrad(const TensorView& grad_output, const IntList& input_size, int64_t dim, Out grad_input);

}  // namespace repdl
