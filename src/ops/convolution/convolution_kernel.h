// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "ops/convolution/convolution_phases.h"
#include "ops/convolution/convolution_plan.h"
#include "repdl/order.h"

namespace repdl {

/// All tensors are row-major, but for those with channels last.
template <class T>
struct ConvArgs {
  ConvSizes sizes;
  ConvPlan plan;
  const T* source;  // what the plan reads
  const T* other;   // forward: weight; by input: weight as (groups, c, o, taps); by weight: gradient of the output
  const T* bias;    // null, or one number a channel of the result
  T* result;
  Order order;
  // Whether channels lie side by side, of the source and of the result (by weight: of the gradient of the output); on the
  // CPU alone.
  bool source_last = false, result_last = false;
  bool* sure = nullptr;  // null, or becomes whether no zero in the place of an absent term shows; on the CPU alone
};

/// Places of a line up to which a kernel holds whole lines of all of a vector's channels.
inline constexpr int64_t kMaxHeldLine = int64_t{1} << 16;

/// A gradient by the input at the positions of several plans.
template <class T>
struct ConvEachPhaseArgs {
  ConvArgs<T> conv;  // without a plan; `other` is the weight
  const ConvPlan* plans;
  int64_t num_plans;
};

/// A gradient by the input in one product.
template <class T>
struct ConvPhasesArgs {
  ConvArgs<T> conv;  // its plan is that of `phases`, and `other` the weights that it puts
  const ConvPhases* phases;
};

/// Whether a product of one of `a` and one of `b` may need the mask of absent terms, and not do with zeros.
template <class T>
struct ConvRangeArgs {
  const T* a;
  int64_t num_a;
  const T* b;
  int64_t num_b;
  bool* needs_mask;
};

REPDL_REAL_KERNEL(ConvKernel, ConvArgs)           // result: output
REPDL_REAL_KERNEL(ConvGradInputKernel, ConvArgs)  // result: gradient of the input, where the plan has positions
REPDL_REAL_KERNEL(ConvEachPhaseKernel, ConvEachPhaseArgs)  // result: gradient of the input; on the CPU alone
REPDL_REAL_KERNEL(ConvPhasesKernel, ConvPhasesArgs)        // result: gradient of the input; on the CPU alone
REPDL_REAL_KERNEL(ConvGradKernelKernel, ConvArgs)          // result: gradient of the weight
REPDL_REAL_KERNEL(ConvPatchesKernel, ConvArgs)     // result: gradient of the input, of patches; other: the weight
REPDL_REAL_KERNEL(ConvRangeKernel, ConvRangeArgs)  // on the CPU alone

}  // namespace repdl
