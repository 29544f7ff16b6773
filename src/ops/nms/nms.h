// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! nms
Boxes (x1, y1, x2, y2) are taken in the descending order of their scores, as `sort` has it. A box is kept unless one that was
kept before covers it: if q > iou_threshold for q = inter / ((a + b) − inter), where a = (x2 − x1) · (y2 − y1) is the area of the
one that was kept, b in the same way that of the other, and inter = w · h, for w = max(min(x2, x2′) − max(x1, x1′), 0) and h in the same
way. Each step is rounded; the threshold is not. Where q is NaN the box is not covered: so one with a NaN among its coordinates
is kept, and covers none. `indices` begins with the indices of the boxes that are kept, in this order, and ends with −1 for each of the
others; `count` is how many are kept.
*/

namespace repdl {

/// boxes (n, 4), scores (n) of the same type; indices (n) and count () are int64.
Specs InferNms(const TensorView& boxes, const TensorView& scores, double iou_threshold);
void Nms(const TensorView& boxes, const TensorView& scores, double iou_threshold, Out indices, Out count);

}  // namespace repdl
