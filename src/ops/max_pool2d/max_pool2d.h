// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! max_pool2d
`output[…, p, q]` is the largest of `input[…, p·sh - ph + u·dh, q·sw - pw + v·dw]` over the window places (u, v) inside the
image, and `indices[…, p, q]` its place h·W + w in the image. A stride of 0 stands for the kernel size. Places are visited in
row-major order and a later one wins only if it is greater, so ties, and -0 against +0, go to the first. The first NaN wins
over everything. A window without any place inside the image gives -inf and the place -1, which takes no gradient.
*/

/*! max_pool2d_grad
`grad_input` is +0 where no window chose the place, else the sum of the gradients of the windows that did, from +0, left to
right in row-major order of (p, q). It is the same in both orders.
*/

namespace repdl {

/// input (n, c, h, w) or (c, h, w); outputs (…, p, q), the second int64. A pair (0, 0) as stride stands for
/// the kernel size, as in torch.
Specs InferMaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
                     bool ceil_mode);
void MaxPool2d(const TensorView& input, IntPair kernel_size, IntPair stride, IntPair padding, IntPair dilation,
               bool ceil_mode, Out output, Out indices);

/// input_shape ends in (h, w) and has the leading dimensions of grad_output.
Specs InferMaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape);
void MaxPool2dGrad(const TensorView& grad_output, const TensorView& indices, const IntList& input_shape,
                   Out grad_input);

}  // namespace repdl
