// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "repdl/op.h"

/*! scatter_reduce
`output` is `input`, whose elements are reduced with those of `src`: along `dim`, element i of src meets place `index[i]` of the
same row, where index has the shape of src; for i ascending, one after the other, each step rounded. By `reduce`, a place becomes
the sum (`sum`), the product (`prod`), the larger number as `maximum` (`amax`) or the smaller one as `minimum` (`amin`), or the sum
divided once by the number of its terms (`mean`). It begins with the element of input, which is a term, or, without `include_self`,
with +0, 1, -inf or inf. A place that no index names stays as it is. It is the same in both orders.
*/

/*! index_reduce
The same as `scatter_reduce` of slices: slice i of `source` along `dim` meets slice `index[i]` of input. Sums are `index_add`'s.
*/

namespace repdl {

/// index, int64, and src have one shape, which is that of input but for the size along dim. reduce: "sum", "mean", "prod",
/// "amax" or "amin". The output may be the input itself.
Specs InferScatterReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src,
                         std::string_view reduce, bool include_self);
void ScatterReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src,
                   std::string_view reduce, bool include_self, Out output);

/// index (n) or a number, int64 in [0, input.shape[dim]); source has the shape of input, with n along dim. reduce: "mean",
/// "prod", "amax" or "amin". The output may be the input itself.
Specs InferIndexReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source,
                       std::string_view reduce, bool include_self);
void IndexReduce(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source,
                 std::string_view reduce, bool include_self, Out output);

}  // namespace repdl
