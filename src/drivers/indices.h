// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.h"
#include "base/op_scratch.h"

namespace repdl {

/// TypeError unless it is int64 or int32, on the device of `like`.
void CheckIntegers(const ArgName& name, const TensorView& integers, const TensorView& like);

/// The integers side by side as int64, copied to the scratch memory if they are strided or int32.
const int64_t* AsInt64(const TensorView& integers, OpScratch& scratch);

/// The same of indices. ValueError unless all are in [0, size); on a device they are as they come, and a kernel that meets
/// one out of range is to stop.
const int64_t* CheckedIndices(const ArgName& name, const TensorView& indices, int64_t size, OpScratch& scratch);

/// ValueError unless it is in [0, 2^31): the rows of an output that no tensor of the call has.
void CheckRows(const ArgName& name, int64_t rows);

}  // namespace repdl
