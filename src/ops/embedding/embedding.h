// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"

/*! embedding_grad
The gradient of a table of rows by what was looked up in it: row r is +0, to which the rows of `grad_output` are added
whose index is r, one after the other in row-major order of the indices, each sum rounded. Indices equal to
`padding_idx` are left out. With `scale_grad_by_freq` each row is first multiplied by `1 / c`, rounded, where c is how
often its index comes; the product is rounded. It is the same in both orders.
*/

/*! embedding_bag
Bag b has the indices from `offsets[b]` on, up to where the next one begins; the last has all that are left. With
`include_last_offset` the last offset begins none. `offset2bag` is the bag of each index and `bag_size` the size of each
bag, without the indices equal to `padding_idx`, which are left out. Row b of `output` is +0, to which for each index of
bag b, in order, the row of `weight` that it names is added, each sum rounded; with `per_sample_weights` a row is first
multiplied by the index's weight, and the product is rounded. For `mode="mean"` the sum is divided by the size of the bag,
but not by 0. For `mode="max"` row b is the first of these rows, of which each number that is less than that of a later
row becomes that, and `maximum_indices` are the indices that its numbers come from, or +0 and 0 without rows; for other
modes `maximum_indices` is a 0 for each bag. It is the same in both orders.
*/

/*! embedding_bag_grad
Row r is +0, to which for each index equal to r, in order, the row of `grad_output` of its bag is added; each sum is
rounded. Before, the row is divided by the size of the bag for `mode="mean"` (but not by 0), multiplied by the index's
weight if there are weights, and divided by how often the index comes with `scale_grad_by_freq`, in this order, each
step rounded. Indices equal to `padding_idx` are left out. For `mode="max"`, number j of row b of `grad_output` is added to
number j of row `maximum_indices[b, j]`, b ascending over the bags whose size is not 0. It is the same in both orders.
*/

namespace repdl {

/// Integers are int64 or int32. grad_output has the shape of indices (in [0, num_weights)) and behind it the width;
/// output (num_weights, width). A padding_idx that is negative stands for none.
Specs InferEmbeddingGrad(const TensorView& grad_output, const TensorView& indices, int64_t num_weights,
                         int64_t padding_idx, bool scale_grad_by_freq);
void EmbeddingGrad(const TensorView& grad_output, const TensorView& indices, int64_t num_weights, int64_t padding_idx,
                   bool scale_grad_by_freq, Out grad_weight);

/// weight (rows, width); indices (n), in [0, rows); offsets (bags), or (bags + 1) with include_last_offset: rising from 0
/// to at most n. Outputs (bags, width), and of the type of offsets the bag of each index (n), the size of each bag (bags),
/// and the indices of the maxima (bags, width), (bags) for other modes.
Specs InferEmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offsets,
                        std::string_view mode, const std::optional<TensorView>& per_sample_weights,
                        bool include_last_offset, int64_t padding_idx);
void EmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offsets, std::string_view mode,
                  const std::optional<TensorView>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                  Out output, Out offset2bag, Out bag_size, Out maximum_indices);

/// grad_output (bags, width); offset2bag, bag_size and maximum_indices are what embedding_bag gave. Output (num_weights,
/// width).
Specs InferEmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                            const TensorView& bag_size, const TensorView& maximum_indices, int64_t num_weights,
                            bool scale_grad_by_freq, std::string_view mode,
                            const std::optional<TensorView>& per_sample_weights, int64_t padding_idx);
void EmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                      const TensorView& bag_size, const TensorView& maximum_indices, int64_t num_weights,
                      bool scale_grad_by_freq, std::string_view mode,
                      const std::optional<TensorView>& per_sample_weights, int64_t padding_idx, Out grad_weight);

}  // namespace repdl
