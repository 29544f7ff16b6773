// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "repdl/op.h"

/*! segment_reduce
The segments of a dimension lie side by side from its beginning; segment k has lengths[k] elements. Its result is, from `initial`
on, one element after another: the sum (`sum`, from +0), the product (`prod`, from 1), the largest (`max`, from -inf), the smallest
(`min`, from inf), or the sum divided once by the number of elements (`mean`, from +0). Each step is rounded. Of equal elements
the first stays, and a NaN stays. The mean of no elements is NaN, or `initial` where that is given.
*/

/*! segment_reduce_grad
The gradient of `segment_reduce` by its input; +0 for elements without a segment. Of a sum each element gets g, of a mean g /
number. Of `max` and `min` each element that is equal to the result, or NaN, gets g; if there are several and g > 0, g / their
number. Of a product, an element x gets g · result / x, from left to right; one that is 0 or NaN gets g times the product of
`initial`, or 1, and the others in order.
*/

namespace repdl {

/// lengths: int64, the dimensions of input before `dim`, then the segments. reduce: "sum", "mean", "prod", "max"
/// or "min".
Specs InferSegmentReduce(const TensorView& input, const TensorView& lengths, std::string_view reduce,
                         std::optional<double> initial, int64_t dim);
void SegmentReduce(const TensorView& input, const TensorView& lengths, std::string_view reduce,
                   std::optional<double> initial, int64_t dim, Out output);

/// output: what segment_reduce gave.
Specs InferSegmentReduceGrad(const TensorView& grad_output, const TensorView& output, const TensorView& input,
                             const TensorView& lengths, std::string_view reduce, std::optional<double> initial,
                             int64_t dim);
void SegmentReduceGrad(const TensorView& grad_output, const TensorView& output, const TensorView& input,
                       const TensorView& lengths, std::string_view reduce, std::optional<double> initial, int64_t dim,
                       Out grad_input);

}  // namespace repdl
