// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"
#include "repdl/order.h"

/*! sparse_mm
A matrix of `num_rows` rows, of which only the elements `values` are present, at the places `row_indices` and
`col_indices`, times `mat2`. A row of the result is +0, to which for each element of that row, in the order in which
they are given, the product of the element and the row of mat2 at its column is added. Each product is rounded and each
sum. It is the same in both orders.
*/

/*! sampled_mm
Elements of the matrix product of `input` and `mat2`, at the places `row_indices` and `col_indices`: each is the Product
over k that `mm` has there. Without k it is +0.
*/

namespace repdl {

/// values (n), row_indices and col_indices (n), int64; mat2 (k, columns); output (num_rows, columns).
Specs InferSparseMm(const TensorView& values, const TensorView& row_indices, const TensorView& col_indices,
                    const TensorView& mat2, int64_t num_rows);
void SparseMm(const TensorView& values, const TensorView& row_indices, const TensorView& col_indices,
              const TensorView& mat2, int64_t num_rows, Out output);

/// input (m, k), mat2 (k, n), row_indices and col_indices (count), int64; output (count).
Specs InferSampledMm(const TensorView& input, const TensorView& mat2, const TensorView& row_indices,
                     const TensorView& col_indices, Order order);
void SampledMm(const TensorView& input, const TensorView& mat2, const TensorView& row_indices,
               const TensorView& col_indices, Order order, Out output);

}  // namespace repdl
