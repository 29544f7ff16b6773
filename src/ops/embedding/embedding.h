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
The row of bag b is +0, to which for each index whose `offset2bag` is b, in order, the row of `weight` that it names is
added, each sum rounded; with `per_sample_weights` a row is first multiplied by the index's weight, and the product is
rounded. For `mode="mean"` the sum is divided by the size of the bag, but not by 0. Indices equal to `padding_idx` are
left out and do not count in the size. It is the same in both orders.
*/

/*! embedding_bag_grad
Row r is +0, to which for each index equal to r, in order, the row of `grad_output` of its bag is added; each sum is
rounded. Before, the row is divided by the size of the bag for `mode="mean"` (but not by 0), multiplied by the index's
weight if there are weights, and divided by how often the index comes with `scale_grad_by_freq`, in this order, each
step rounded. Indices equal to `padding_idx` are left out. It is the same in both orders.
*/

namespace repdl {

/// grad_output has the shape of indices (int64 in [0, num_weights)) and behind it the width; output (num_weights,
/// width). A padding_idx that is negative stands for none.
Specs InferEmbeddingGrad(const TensorView& grad_output, const TensorView& indices, int64_t num_weights,
                         int64_t padding_idx, bool scale_grad_by_freq);
void EmbeddingGrad(const TensorView& grad_output, const TensorView& indices, int64_t num_weights, int64_t padding_idx,
                   bool scale_grad_by_freq, Out grad_weight);

/// weight (rows, width); indices (n), int64 in [0, rows); offset2bag (n), int64 in [0, num_bags). Outputs (num_bags,
/// width), and int64 the size of each bag (num_bags).
Specs InferEmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offset2bag,
                        int64_t num_bags, std::string_view mode, const std::optional<TensorView>& per_sample_weights,
                        int64_t padding_idx);
void EmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offset2bag, int64_t num_bags,
                  std::string_view mode, const std::optional<TensorView>& per_sample_weights, int64_t padding_idx,
                  Out output, Out bag_size);

/// grad_output (bags, width); offset2bag is what embedding_bag took and bag_size what it gave. Output (num_weights,
/// width).
Specs InferEmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                            const TensorView& bag_size, int64_t num_weights, std::string_view mode,
                            const std::optional<TensorView>& per_sample_weights, bool scale_grad_by_freq,
                            int64_t padding_idx);
void EmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                      const TensorView& bag_size, int64_t num_weights, std::string_view mode,
                      const std::optional<TensorView>& per_sample_weights, bool scale_grad_by_freq, int64_t padding_idx,
                      Out grad_weight);

}  // namespace repdl
