// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! sort
`values` are the numbers of each row along `dim` in ascending order, or in descending order, and `indices` their places in the row.
-0 equals +0. A NaN is above every number and equals every NaN. Equal numbers stay in the order of their places, also with `descending`.
*/

/*! topk
The first k of each row as `sort` orders it: in descending order with `largest`, else in ascending order. They come in this order without
`sorted`, too.
*/

/*! kthvalue
`values` is number k, from 1, of each row as `sort` orders it, and `indices` the first place that has an equal number; value and sign are
those of that place.
*/

/*! median
`kthvalue` with `k = (n + 1) / 2`, rounded down, where n is the length of the row; but NaN, and the first place that has one, if there is a
NaN.
*/

/*! nanmedian
`kthvalue` with `k = (n + 1) / 2`, rounded down, where n is how many numbers of the row are not NaN; but NaN, and the first place, if all are.
*/

/*! mode
`values` is the number that comes most often in each row, the first of several as `sort` orders them, and `indices` the first place that has
an equal number; value and sign are those of that place.
*/

namespace repdl {

/// values has the type of input, indices is int64. Of sort both have the shape of input, of topk size k along dim, of the
/// others none, or size 1 with keepdim.
Specs InferSort(const TensorView& input, int64_t dim, bool descending);
void Sort(const TensorView& input, int64_t dim, bool descending, Out values, Out indices);

Specs InferTopk(const TensorView& input, int64_t k, int64_t dim, bool largest, bool sorted);
void Topk(const TensorView& input, int64_t k, int64_t dim, bool largest, bool sorted, Out values, Out indices);

Specs InferKthvalue(const TensorView& input, int64_t k, int64_t dim, bool keepdim);
void Kthvalue(const TensorView& input, int64_t k, int64_t dim, bool keepdim, Out values, Out indices);

Specs InferMedian(const TensorView& input, int64_t dim, bool keepdim);
void Median(const TensorView& input, int64_t dim, bool keepdim, Out values, Out indices);

Specs InferNanmedian(const TensorView& input, int64_t dim, bool keepdim);
void Nanmedian(const TensorView& input, int64_t dim, bool keepdim, Out values, Out indices);

Specs InferMode(const TensorView& input, int64_t dim, bool keepdim);
void Mode(const TensorView& input, int64_t dim, bool keepdim, Out values, Out indices);

}  // namespace repdl
