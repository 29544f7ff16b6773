// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/per_axis.h"

/*! max_pool
The largest element of each window, and its place. Along a dimension window k has the elements k · stride − padding + u · dilation
that lie inside, for u from 0 to kernel_size − 1; the windows are those that `avg_pool` has for a kernel of size
dilation · (kernel_size − 1) + 1. A stride of 0 stands for the kernel size. The place is the row-major number among the pooled
dimensions. Elements are visited in row-major order and a later one wins only if it is greater, so ties, and -0 against +0, go
to the first. The first NaN wins over everything. A window without any element gives -inf and the place -1, which takes no
gradient.
*/

/*! max_pool_grad
An element is +0 where no window chose it, else the sum of the gradients of the windows that did, from +0, left to right in
row-major order of the windows. It is the gradient of every pool that gives places.
*/

/*! adaptive_max_pool
The largest element of each part of the input, and its place, as of a window of `max_pool`. The parts are those of
`adaptive_avg_pool`.
*/

/*! max_unpool
Each element of the input goes to its place among the pooled dimensions of the output, which is +0 elsewhere. Of several
elements with one place the last one in row-major order stays.
*/

/*! max_pool2d
`max_pool` of the last two dimensions.
*/

/*! max_pool2d_grad
`max_pool_grad` of the last two dimensions. It is the same in both orders.
*/

namespace repdl {

/// kernel_size has a number for each of the dimensions from `dim` on, three at most; stride, padding and dilation as many,
/// or one for all. The second output is int64.
Specs InferMaxPool(const TensorView& input, const IntList& kernel_size, const PerAxis& stride, const PerAxis& padding,
                   const PerAxis& dilation, bool ceil_mode, int64_t dim);
void MaxPool(const TensorView& input, const IntList& kernel_size, const PerAxis& stride, const PerAxis& padding,
             const PerAxis& dilation, bool ceil_mode, int64_t dim, Out output, Out indices);

/// input_size: of the pooled dimensions, from `dim` on.
Specs InferMaxPoolGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_size,
                       int64_t dim);
void MaxPoolGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_size, int64_t dim,
                 Out grad_input);

/// output_size: of the dimensions from `dim` on, three at most.
Specs InferAdaptiveMaxPool(const TensorView& input, const IntList& output_size, int64_t dim);
void AdaptiveMaxPool(const TensorView& input, const IntList& output_size, int64_t dim, Out output, Out indices);

/// output_size: of the dimensions from `dim` on, three at most.
Specs InferMaxUnpool(const TensorView& input, const TensorView& indices, const IntList& output_size, int64_t dim);
void MaxUnpool(const TensorView& input, const TensorView& indices, const IntList& output_size, int64_t dim, Out output);

/// input (n, c, h, w) or (c, h, w); outputs (…, p, q), the second int64.
Specs InferMaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
                     bool ceil_mode);
void MaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
               bool ceil_mode, Out output, Out indices);

/// input_shape ends in (h, w) and has the leading dimensions of grad_output.
Specs InferMaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape);
void MaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape,
                   Out grad_input);

}  // namespace repdl
