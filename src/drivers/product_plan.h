// SPDX-License-Identifier: MIT
// How a product is cut for a CUDA device, in plain C++. It does not reach the bits.
#pragma once

#include <cstdint>

#include "numerics/order.h"

namespace repdl {

/// More parts are never worth while, and the values of so many can wait in one thread.
inline constexpr int64_t kMaxParts = 4096;
inline constexpr int kMaxPartLevels = NumLevels(kMaxParts - 1);

/// What decides: m x n results for each matrix of a batch, sums of k terms, whose chains restart after `chain` of them.
struct ProductSizes {
  int64_t m, n, k, batch;
  int64_t chain;
  int item;                   // bytes of a number
  bool may_transpose = true;  // whether the operands may change sides
};

/// The tiles that there are, by the results of each: those of products with enough of them, of products with few, and of
/// products with few rows.
enum class ProductTiles { kLarge, kSmall, kFlat };

struct ProductPlan {
  ProductTiles tiles;
  /// Whether the transpose is computed.
  bool transposed;
  /// The terms of one part of a sum, and the parts. Those of more than one have whole chunks, a power of two of them but for
  /// the last part: so each part has the value of a node of the tree, and the tree of the parts is its top.
  int64_t part_terms, num_parts;
};

/// Rows and columns of a tile for numbers of `item` bytes.
struct TileSize {
  int rows, cols;
};
constexpr TileSize SizeOf(ProductTiles tiles, int item) {
  if (tiles == ProductTiles::kFlat) return {16, 128};
  if (tiles == ProductTiles::kSmall) return {64, 64};
  return item == 8 ? TileSize{64, 128} : TileSize{128, 128};
}

/// The plan that should take the least time on a device of this many multiprocessors.
ProductPlan PlanProduct(const ProductSizes& sizes, int multiprocessors);

/// The same for tiles and parts that are given: parts of `part_chunks` chunks, a power of two.
ProductPlan PlanOf(const ProductSizes& sizes, ProductTiles tiles, bool transposed, int64_t part_chunks);

}  // namespace repdl
