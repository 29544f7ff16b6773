// SPDX-License-Identifier: MIT
#pragma once

#include "tensors.h"

namespace repdl::reference {

struct AdamOptions {
  int64_t step = 1;
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool maximize = false;
  bool decoupled = false;  // adamw_step
};

/// What a step changes.
template <class T>
struct AdamState {
  Numbers<T> param, exp_avg, exp_avg_sq;
  Numbers<T> max_exp_avg_sq;  // or empty
};

template <class T>
void AdamStep(AdamState<T>& state, const Numbers<T>& grad, const AdamOptions& options);

}  // namespace repdl::reference
