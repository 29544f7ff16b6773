// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "base/kernel.h"
#include "ops/philox/philox_kernel.h"
#include "repdl/order.h"

namespace repdl {

/// A matrix for each head of a batch; a stride is 0 where the numbers repeat.
template <class T>
struct HeadMatrices {
  const T* data = nullptr;  // null if there are none
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0, col_stride = 0;
};

/// A dropout mask that is drawn: what is kept is multiplied by `factor`.
template <class T>
struct DrawnDropout {
  PhiloxStream stream;
  PhiloxBernoulliConstants kept;
  T factor;
};

/// Of both ops; grad_output and the gradients are those of attention_grad.
template <class T>
struct AttentionArgs {
  int64_t batch, heads, key_heads;
  int64_t queries, keys;
  int64_t width, value_width;
  HeadMatrices<T> query, key, value, attn_mask, dropout_mask, grad_output;
  std::optional<DrawnDropout<T>> dropout;  // without a dropout_mask
  T scale;
  bool is_causal;
  Order order;
  T* output;
  T *grad_query, *grad_key, *grad_value;
};

REPDL_REAL_KERNEL(AttentionKernel, AttentionArgs)
REPDL_REAL_KERNEL(AttentionGradKernel, AttentionArgs)

}  // namespace repdl
