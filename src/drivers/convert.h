// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "base/op_scratch.h"
#include "drivers/map.h"

namespace repdl {

/// Numbers of float32, bfloat16 or float16 as another of these types: widened exactly, or rounded once.
REPDL_KERNEL(ConvertKernel, MapArgs)

/// Whether numbers of this type are widened to float32 to be computed with.
inline bool IsLow(DType dtype) { return dtype == DType::kBFloat16 || dtype == DType::kFloat16; }

/// `to` is row-major, of the shape of `from`.
inline void Convert(const Place& place, const TensorView& from, const TensorView& to) {
  if (to.numel() > 0) ConvertKernel(place, MakeMapArgs({&from}, to));
}

/// The tensor as float32 in the scratch memory. Its dimensions follow each other there as they do in the tensor.
TensorView Widened(const TensorView& tensor, OpScratch& scratch);

}  // namespace repdl
