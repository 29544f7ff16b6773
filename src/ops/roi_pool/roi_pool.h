// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! roi_pool
The largest element in the bins of each box (x1, y1, x2, y2), and its place. Along an axis a box from a to e has the elements from
⌊a · s⌉ to ⌊e · s⌉, or the first one alone if there are fewer, for the scale s, which is spatial_scale rounded to the dtype; a half is
rounded away from zero, and the product is brought into [−2^30, 2^30] before. For the length of that and b = length / output_size, bin i
has those from ⌊i · b⌋ to the one before ⌈(i + 1) · b⌉, counted from the first of the box, as far as they lie in the image. Products and
quotients are rounded to the dtype. A box with a NaN has none.

Of the elements of a bin that is chosen which `max_pool` chooses: the first NaN, or the first of the largest. The place is its row-major
number in the image. A bin without any has +0 and the place −1.
*/

/*! roi_pool_grad
The gradient of `roi_pool` by its input. To each element, from +0 on, are added the gradients of the bins that chose it, in row-major order.
*/

namespace repdl {

/// input (n, c, h, w), boxes (k, 4) of the same type, indices (k) int64: the image of each. The output is (k, c, p, q)
/// for the output_size (p, q), and so are places, int64.
Specs InferRoiPool(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
                   double spatial_scale);
void RoiPool(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
             double spatial_scale, Out output, Out places);

/// input_size: (n, c, h, w).
Specs InferRoiPoolGrad(const TensorView& grad_output, const TensorView& places, const TensorView& indices,
                       const IntList& input_size);
void RoiPoolGrad(const TensorView& grad_output, const TensorView& places, const TensorView& indices,
                 const IntList& input_size, Out grad_input);

}  // namespace repdl
