// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! histogram
`hist[b]` is the number of elements x of input in bin b, rounded once; or the sum of their weights, from +0, in row-major order of input.
Elements below the first edge, above the last one, and NaN, are in no bin. Others are in bin `b = min(a, m - 2)` of the m - 1 bins, where a
is the number of edges before the first that is greater than x, less 1, found by bisection: first = 0, last = m, and while first < last, with
`middle = first + (last - first) / 2` rounded down, first becomes middle + 1 if `bins[middle] > x` is false, else last becomes middle; a is
first - 1, or 0 if that is negative. Only for edges that do not ascend does it matter that it is a bisection.
*/

namespace repdl {

/// bins are the edges, (m), at least one; hist has m - 1 elements. weight has the shape of input.
Specs InferHistogram(const TensorView& input, const TensorView& bins, const std::optional<TensorView>& weight);
void Histogram(const TensorView& input, const TensorView& bins, const std::optional<TensorView>& weight, Out hist);

}  // namespace repdl
