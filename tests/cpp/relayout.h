// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "drivers/contiguous.h"
#include "repdl/tensor.h"

namespace repdl::testing {

/// The same numbers laid out otherwise, in memory of its own.
class Relayout {
 public:
  enum Kind { kMisaligned, kSpread, kReversed, kTransposed, kNumKinds, kAligned = kNumKinds };

  /// `order` numbers the permutations of the dimensions, 0 being none.
  Relayout(const TensorView& tensor, Kind kind, int order = 0) : view_(tensor) {
    const int item = ItemSize(tensor.dtype);
    std::vector<int> dims(static_cast<size_t>(tensor.rank()));
    std::iota(dims.begin(), dims.end(), 0);
    for (int i = 0; i < order; ++i) std::ranges::next_permutation(dims);
    // Transposed: the first dimension varies fastest.
    if (kind != kTransposed) std::ranges::reverse(dims);
    int64_t step = kind == kSpread ? 3 : 1;
    for (const int dim : dims) {
      view_.strides[dim] = step;
      step *= std::max<int64_t>(tensor.shape[dim], 1);
    }
    memory_.resize(static_cast<size_t>((step + 4) * item));
    view_.data = memory_.data() + (kind == kAligned ? 0 : item);  // which is never aligned to a vector
    if (kind == kReversed) {
      for (int dim = 0; dim < tensor.rank(); ++dim) {
        const int64_t last = std::max<int64_t>(tensor.shape[dim] - 1, 0);
        view_.data = static_cast<std::byte*>(view_.data) + last * view_.strides[dim] * item;
        view_.strides[dim] = -view_.strides[dim];
      }
    }
    CopyElements(Place(), tensor, view_);
  }
  const TensorView& view() const { return view_; }
  std::span<const std::byte> memory() const { return memory_; }

 private:
  TensorView view_;
  std::vector<std::byte> memory_;
};

}  // namespace repdl::testing
