// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.h"
#include "base/op_scratch.h"
#include "repdl/tensor.h"

namespace repdl {

/// The matrices of a batch: element (i, j) of matrix n at n * step + i * row_stride + j * col_stride.
struct Matrices {
  const void* data;
  DType dtype;
  int64_t step, row_stride, col_stride;

  Matrices Transposed() const { return {data, dtype, step, col_stride, row_stride}; }
};

/// The last two dimensions are those of the matrices. Copies a tensor whose batch has no single step.
Matrices MatricesOf(const TensorView& tensor, OpScratch& scratch);

/// The number of matrices.
int64_t BatchOf(const IntList& shape);

/// ValueError unless the tensor is a batch of square matrices.
void CheckSquare(const ArgName& name, const TensorView& tensor);

/// ValueError unless the tensor has the batch of `matrices`, which are square, and rows of their size.
void CheckRows(const ArgName& name, const TensorView& rows, const ArgName& other, const TensorView& matrices);

/// The shape of the batch, then one or two sizes.
IntList BatchAnd(const IntList& shape, std::initializer_list<int64_t> sizes);

}  // namespace repdl
