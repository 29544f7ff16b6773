// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tensors.h"

namespace repdl::reference {

/// What cross_entropy is asked for.
template <class T>
struct CrossEntropyOptions {
  Numbers<T> weight;  // by class, or empty
  int64_t ignore_index = -100;
  std::string_view reduction = "mean";
  double label_smoothing = 0.0;
  Order order = Order::kBlocked;
};

/// One class for each sample, or a probability for each score.
template <class T>
struct Target {
  bool probabilities = false;
  Indices classes;
  Numbers<T> probability;
};

/// The scores x lie along the classes. The result has one element, or one for each sample with reduction
/// "none".
template <class T>
Numbers<T> CrossEntropy(const Numbers<T>& x, const Layout& layout, const Target<T>& target,
                        const CrossEntropyOptions<T>& options);

/// `grad_output` is as long as the result of CrossEntropy.
template <class T>
Numbers<T> CrossEntropyGrad(const Numbers<T>& grad_output, const Numbers<T>& x, const Layout& layout,
                            const Target<T>& target, const CrossEntropyOptions<T>& options);

}  // namespace repdl::reference
