// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.h"
#include "base/op_scratch.h"
#include "repdl/op.h"
#include "repdl/tensor.h"

namespace repdl {

/// An op, or its form for complex numbers, which are pairs in a last dimension that its shapes do not count.
struct NumberForm {
  std::string_view op;
  bool pairs;

  ArgName Arg(std::string_view arg) const { return {op, arg}; }
  /// The tensor, or its real parts; an error unless it holds the numbers of this form, of the type and device of `like`.
  TensorView Numbers(std::string_view arg, const TensorView& tensor, const TensorView& like) const;
  TensorSpec Spec(DType dtype, IntList shape) const;
};

/// The matrices of a batch: element (i, j) of matrix n at n * step + i * row_stride + j * col_stride. Of pairs, the
/// imaginary part stands part_stride behind the real one.
struct Matrices {
  const void* data;
  DType dtype;
  int64_t step, row_stride, col_stride;
  int64_t part_stride = 0;

  Matrices Transposed() const { return {data, dtype, step, col_stride, row_stride, part_stride}; }
};

/// The last two dimensions are those of the matrices, of pairs those before the last. Copies a tensor whose batch has no
/// single step.
Matrices MatricesOf(const TensorView& tensor, OpScratch& scratch, bool pairs = false);

/// The number of matrices.
int64_t BatchOf(const IntList& shape);

/// ValueError unless the tensor is a batch of square matrices.
void CheckSquare(const ArgName& name, const TensorView& tensor);

/// ValueError unless the tensor has the batch of `matrices`, which are square, and rows of their size.
void CheckRows(const ArgName& name, const TensorView& rows, const ArgName& other, const TensorView& matrices);

/// Of an op that solves systems of square matrices by factors with a pivot for each row, of int64: as `rows`, which have
/// the batch of the factors.
Specs InferSolveByPivots(const NumberForm& form, const TensorView& factors, const TensorView& pivots,
                         const TensorView& rows);

/// The shape of the batch, then one or two sizes.
IntList BatchAnd(const IntList& shape, std::initializer_list<int64_t> sizes);

}  // namespace repdl
