// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tensors.h"

namespace repdl::reference {

/// What cross_entropy is asked for.
struct CrossEntropyOptions {
  Floats weight;  // by class, or empty
  int64_t ignore_index = -100;
  std::string_view reduction = "mean";
  double label_smoothing = 0.0;
  Order order = Order::kBlocked;
};

/// One class for each sample, or a probability for each score.
struct Target {
  bool probabilities = false;
  Indices classes;
  Floats probability;
};

/// The scores x lie along the classes. The result has one element, or one for each sample with reduction
/// "none".
Floats CrossEntropy(const Floats& x, const Layout& layout, const Target& target, const CrossEntropyOptions& options);

/// `grad_output` is as long as the result of CrossEntropy.
Floats CrossEntropyGrad(const Floats& grad_output, const Floats& x, const Layout& layout, const Target& target,
                        const CrossEntropyOptions& options);

}  // namespace repdl::reference
