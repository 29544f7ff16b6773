// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/reduce.h"

namespace repdl {

/// The rows of one tensor along one dimension.
struct Rows {
  float* data;
  Loops starts;
  int64_t stride;  // between the elements of a row
};

/// Rows along `dim`; `data` is only written to if the tensor is an output.
inline Rows RowsAlong(const TensorView& tensor, int dim) {
  Rows rows{tensor.Data<float>(), {}, tensor.strides[dim]};
  for (int i = 0; i < tensor.rank(); ++i) {
    if (i != dim) rows.starts.Append(tensor.shape[i], tensor.strides[i]);
  }
  return rows;
}

struct SoftmaxArgs {
  int64_t num_rows, n;
  Rows input;   // for a gradient: the gradient of the output
  Rows output;  // for a gradient: the output of the forward op
  Rows result;
  bool log;
  Order order;
};

REPDL_KERNEL(SoftmaxKernel, SoftmaxArgs)
REPDL_KERNEL(SoftmaxGradKernel, SoftmaxArgs)

}  // namespace repdl
