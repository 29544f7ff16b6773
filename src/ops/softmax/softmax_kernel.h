// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/reduce.h"

namespace repdl {

/// The rows of one tensor along one dimension.
template <class T>
struct Rows {
  T* data;
  Loops starts;
  int64_t stride;  // between the elements of a row
};

/// Rows along `dim`; `data` is only written to if the tensor is an output.
template <class T>
Rows<T> RowsAlong(const TensorView& tensor, int dim) {
  Rows<T> rows{tensor.Data<T>(), {}, tensor.strides[dim]};
  for (int i = 0; i < tensor.rank(); ++i) {
    if (i != dim) rows.starts.Append(tensor.shape[i], tensor.strides[i]);
  }
  return rows;
}

template <class T>
struct SoftmaxArgs {
  int64_t num_rows, n;
  Rows<T> input;   // for a gradient: the gradient of the output
  Rows<T> output;  // for a gradient: the output of the forward op
  Rows<T> result;
  Order order;
};

REPDL_REAL_KERNEL(SoftmaxKernel, SoftmaxArgs)
REPDL_REAL_KERNEL(LogSoftmaxKernel, SoftmaxArgs)
REPDL_REAL_KERNEL(SoftmaxGradKernel, SoftmaxArgs)
REPDL_REAL_KERNEL(LogSoftmaxGradKernel, SoftmaxArgs)

}  // namespace repdl
