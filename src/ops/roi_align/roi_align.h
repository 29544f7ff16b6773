// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/per_axis.h"

/*! roi_align
Means of an image over the bins of each box (x1, y1, x2, y2). Element (r, c, i, j) is a sum along y of sums along x: `weight * x` for each
column that bin j has, in ascending order, then `weight * sum` for each row that bin i has. Each step is rounded; a sum begins with its
first product, and without one it is +0.

Along an axis of `size` elements, a box from a to e has start = a · s − o and length = (e · s − o) − start for the scale s, which is
spatial_scale rounded to the dtype, and o = 1/2 with `aligned`, else 0; without `aligned` a length below 1 is made 1. A bin of b is
b = length / output_size long. It has n points: sampling_ratio, if that is above 0, else ⌈b⌉, at most 2^16, or none if b is not above 0.
Point k of bin i lies at p = (start + i · b) + ((k + 1/2) · b) / n. All this is computed in the dtype, each step rounded.

A point is left out unless −1 ≤ p ≤ size. If p < 0, it is made 0. Its neighbours are l = ⌊p⌋ with the weight 1 − (p − l), and l + 1 with p − l; but
size − 1 alone, with the weight 1, if l is not below that. What a bin has are the neighbours of its points. The weight of one is the sum of
its weights from +0 on, in the order of the points, divided by n, in binary64, and then rounded to the dtype.
*/

/*! roi_align_grad
The gradient of `roi_align` by its input. To each element of an image, from +0 on, is added what its boxes give, in their order. That is a
sum along the bins of y of sums along the bins of x, of the same products: from +0 on, `weight * grad` for each j whose bin has the column, in
ascending order; then, from +0 on, `weight * sum` for each i whose bin has the row.
*/

namespace repdl {

/// input (n, c, h, w), boxes (k, 4) of the same type, indices (k) int64: the image of each. The output is (k, c, p, q)
/// for the output_size (p, q).
Specs InferRoiAlign(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
                    double spatial_scale, int64_t sampling_ratio, bool aligned);
void RoiAlign(const TensorView& input, const TensorView& boxes, const TensorView& indices, IntPair output_size,
              double spatial_scale, int64_t sampling_ratio, bool aligned, Out output);

/// input_size: (n, c, h, w).
Specs InferRoiAlignGrad(const TensorView& grad_output, const TensorView& boxes, const TensorView& indices,
                        const IntList& input_size, double spatial_scale, int64_t sampling_ratio, bool aligned);
void RoiAlignGrad(const TensorView& grad_output, const TensorView& boxes, const TensorView& indices,
                  const IntList& input_size, double spatial_scale, int64_t sampling_ratio, bool aligned,
                  Out grad_input);

}  // namespace repdl
