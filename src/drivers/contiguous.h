// SPDX-License-Identifier: MIT
#pragma once

#include "base/op_scratch.h"
#include "repdl/tensor.h"

namespace repdl {

/// The tensor itself if it is row-major, else a row-major copy in the scratch memory.
TensorView Contiguous(const TensorView& tensor, OpScratch& scratch);

/// Copies element by element between two views of one shape and dtype.
void CopyElements(const Place& place, const TensorView& from, const TensorView& to);

/// Makes all numbers of a row-major tensor +0.
void FillWithZero(const Place& place, const TensorView& tensor);

/// A view with the dimensions in another order.
TensorView Permuted(const TensorView& tensor, const IntList& dims);

}  // namespace repdl
