// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"

namespace repdl {

enum class RecurrentCell { kLstm, kGru, kRnnTanh, kRnnRelu };

/// Gates of a cell, and numbers that a unit saves in a step.
inline constexpr int GatesOf(RecurrentCell cell) {
  return cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1;
}
inline constexpr int SavedBy(RecurrentCell cell) {
  return cell == RecurrentCell::kLstm ? 5 : cell == RecurrentCell::kGru ? 4 : 0;
}

/// Every tensor is row-major. What a cell does not have is null, as is a bias that is not given.
template <class T>
struct RecurrentArgs {
  RecurrentCell cell;
  int64_t steps, batch, hidden;
  bool reverse;
  Order order;
  const T *gates, *hx, *cx, *weight, *bias;
  T *output, *h_n, *c_n, *saved;
};

/// Null too are gradients that are not given.
template <class T>
struct RecurrentGradArgs {
  RecurrentCell cell;
  int64_t steps, batch, hidden;
  bool reverse;
  Order order;
  const T *output, *saved, *hx, *cx, *weight;
  const T *grad_output, *grad_h_n, *grad_c_n;
  T *grad_gates, *grad_hx, *grad_cx, *grad_weight, *grad_bias;
};

/// Where the steps of a call lie.
template <class Args>
struct RecurrentWalk {
  const Args& args;

  int64_t PlaceOf(int64_t step) const { return args.reverse ? args.steps - 1 - step : step; }
  /// Numbers of the batch at the place of a step, `width` for each sample.
  template <class T>
  T* At(T* data, int64_t step, int64_t width) const {
    return data + PlaceOf(step) * args.batch * width;
  }
  /// The h that a step begins with.
  auto Before(int64_t step) const { return step == 0 ? args.hx : At(args.output, step - 1, args.hidden); }
};

REPDL_REAL_KERNEL(RecurrentKernel, RecurrentArgs)
REPDL_REAL_KERNEL(RecurrentGradKernel, RecurrentGradArgs)

}  // namespace repdl
