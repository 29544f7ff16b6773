// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! index_add
`output` is `input`, to whose slices along `dim` those of `source` are added: slice i of source to slice `index[i]`, for
i ascending, one after the other, each sum rounded. With `alpha` ≠ 1 each element of source is first multiplied by
alpha, which is rounded to the dtype, and the product is rounded. A slice that no index names stays as it is. It is the
same in both orders.
*/

/*! scatter_add
`output` is `input`, to whose elements those of `src` are added: along `dim`, element i of src to place `index[i]` of
the same row, where index has the shape of src; for i ascending, one after the other, each sum rounded. A place that no
index names stays as it is. It is the same in both orders.
*/

namespace repdl {

/// index (n) or a number, int64 in [0, input.shape[dim]); source has the shape of input, with n along dim. The output
/// may be the input itself.
Specs InferIndexAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source,
                    double alpha);
void IndexAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& source, double alpha,
              Out output);

/// index, int64, and src have one shape, which is that of input but for the size along dim. The output may be the input
/// itself.
Specs InferScatterAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src);
void ScatterAdd(const TensorView& input, int64_t dim, const TensorView& index, const TensorView& src, Out output);

}  // namespace repdl
