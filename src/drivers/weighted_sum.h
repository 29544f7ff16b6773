// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "drivers/contiguous.h"
#include "numerics/order.h"
#include "repdl/tensor.h"

namespace repdl {

/// Sums of a few weighted numbers along an axis: sum j is weights[t] * x[indices[t]] for t from starts[j] to
/// starts[j + 1], added in this order to `start`. Without terms it is +0.
template <class T>
struct WeightedSums {
  int64_t size;   // numbers along the axis
  int64_t count;  // sums
  const int64_t* starts;
  const int32_t* indices;
  const T* weights;
  T start;  // +0; or -0, which changes no number, so that a sum begins with its first product

  /// Whether there is an axis to sum along.
  REPDL_WALK explicit operator bool() const { return starts != nullptr; }
};
static_assert(std::is_trivially_copyable_v<WeightedSums<float>>);

/// The sums where an op runs, whose lists were made on the host.
template <class T>
WeightedSums<T> OnPlace(const WeightedSums<T>& sums, OpScratch& scratch) {
  WeightedSums<T> there = sums;
  if (!sums) return there;
  const int64_t terms = sums.starts[sums.count];
  there.starts = OnPlace(sums.starts, sums.count + 1, scratch);
  there.indices = OnPlace(sums.indices, terms, scratch);
  there.weights = OnPlace(sums.weights, terms, scratch);
  return there;
}

/// The memory of such sums, while they are listed.
template <class T>
class WeightedSumList {
 public:
  explicit WeightedSumList(int64_t size) : size_(size) {}

  /// A term of the sum that is being listed; the weight is rounded.
  void Append(int64_t index, double weight) {
    indices_.push_back(static_cast<int32_t>(index));
    weights_.push_back(static_cast<T>(weight));
  }
  void EndSum() { starts_.push_back(static_cast<int64_t>(indices_.size())); }

  /// Valid as long as the list is. Sums begin with their first products, or with +0.
  WeightedSums<T> View(T start = T{-0.0}) const {
    return {size_, count(), starts_.data(), indices_.data(), weights_.data(), start};
  }

  /// The gradient: for each number a sum from +0 of those that it went to; first those whose first term it was, then
  /// those whose second, …, each in their order.
  WeightedSums<T> Transposed(WeightedSumList& list) const;

 private:
  int64_t count() const { return static_cast<int64_t>(starts_.size()) - 1; }

  int64_t size_;
  std::vector<int64_t> starts_{0};
  std::vector<int32_t> indices_;
  std::vector<T> weights_;
};

template <class T>
WeightedSums<T> WeightedSumList<T>::Transposed(WeightedSumList& list) const {
  list.starts_.assign(static_cast<size_t>(size_) + 1, 0);
  list.indices_.resize(indices_.size());
  list.weights_.resize(weights_.size());
  for (const int32_t i : indices_) ++list.starts_[i + 1];
  for (int64_t i = 0; i < size_; ++i) list.starts_[i + 1] += list.starts_[i];
  std::vector<int64_t> next(list.starts_.begin(), list.starts_.end() - 1);
  bool more = true;
  for (int64_t k = 0; more; ++k) {
    more = false;
    for (int64_t j = 0; j < count(); ++j) {
      const int64_t t = starts_[j] + k;
      if (t >= starts_[j + 1]) continue;
      const int64_t at = next[indices_[t]]++;
      list.indices_[at] = static_cast<int32_t>(j);
      list.weights_[at] = weights_[t];
      more = true;
    }
  }
  return {count(), size_, list.starts_.data(), list.indices_.data(), list.weights_.data(), T{0}};
}

}  // namespace repdl
