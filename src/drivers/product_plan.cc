// SPDX-License-Identifier: MIT
#include "drivers/product_plan.h"

#include <algorithm>

namespace repdl {
namespace {

/// Numbers of partial results that may wait in memory.
constexpr double kMaxPartial = 1 << 26;

double CeilDivide(double a, double b) {
  const double quotient = a / b;
  const auto whole = static_cast<double>(static_cast<int64_t>(quotient));
  return whole < quotient ? whole + 1 : whole;
}

/// Results times terms that a multiprocessor adds in a clock. Large tiles read the fewest numbers for each.
double RateOf(ProductTiles tiles) {
  switch (tiles) {
    case ProductTiles::kLarge: return 120;
    case ProductTiles::kSmall: return 96;
    default: return 64;
  }
}

/// The clocks that a plan takes, about.
double ClocksOf(const ProductSizes& sizes, const ProductPlan& plan, double multiprocessors) {
  const TileSize tile = SizeOf(plan.tiles, sizes.item);
  const auto m = static_cast<double>(sizes.m), n = static_cast<double>(sizes.n);
  const double tiles = CeilDivide(plan.transposed ? n : m, tile.rows) * CeilDivide(plan.transposed ? m : n, tile.cols);
  const double units = tiles * static_cast<double>(sizes.batch) * static_cast<double>(plan.num_parts);
  const double unit = static_cast<double>(tile.rows) * tile.cols * static_cast<double>(plan.part_terms);
  double clocks = CeilDivide(units, multiprocessors) * unit / RateOf(plan.tiles);
  if (plan.num_parts > 1) {
    // A second kernel, after which each partial result has been written and read, a few bytes a clock.
    constexpr double kStart = 4000, kBytesAClock = 16;
    const double partial = m * n * static_cast<double>(sizes.batch * plan.num_parts);
    clocks += kStart + 2 * partial * sizes.item / (multiprocessors * kBytesAClock);
  }
  return clocks;
}

}  // namespace

ProductPlan PlanOf(const ProductSizes& sizes, ProductTiles tiles, bool transposed, int64_t part_chunks) {
  const int64_t terms = part_chunks * sizes.chain;
  if (terms >= sizes.k) return {tiles, transposed, sizes.k, 1};
  return {tiles, transposed, terms, (sizes.k + terms - 1) / terms};
}

ProductPlan PlanProduct(const ProductSizes& sizes, int multiprocessors) {
  const double results = static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.batch);
  const int64_t chunks = std::max<int64_t>((sizes.k + sizes.chain - 1) / sizes.chain, 1);
  ProductPlan best{};
  double best_clocks = -1;
  for (const ProductTiles tiles : {ProductTiles::kLarge, ProductTiles::kSmall, ProductTiles::kFlat}) {
    for (const bool transposed : {false, true}) {
      if (transposed && (tiles != ProductTiles::kFlat || !sizes.may_transpose)) continue;
      for (int64_t part_chunks = 1;; part_chunks *= 2) {
        const ProductPlan plan = PlanOf(sizes, tiles, transposed, part_chunks);
        const bool fits = plan.num_parts <= kMaxParts && results * static_cast<double>(plan.num_parts) <= kMaxPartial;
        if (fits || plan.num_parts == 1) {
          const double clocks = ClocksOf(sizes, plan, multiprocessors);
          if (best_clocks < 0 || clocks < best_clocks) best = plan, best_clocks = clocks;
        }
        if (part_chunks >= chunks) break;
      }
    }
  }
  return best;
}

}  // namespace repdl
