// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.h"
#include "base/op_scratch.h"

namespace repdl {

/// The indices side by side, copied to the scratch memory if they are strided. ValueError unless all are in [0, size).
const int64_t* CheckedIndices(const ArgName& name, const TensorView& indices, int64_t size, OpScratch& scratch);

/// ValueError unless it is in [0, 2^31): the rows of an output that no tensor of the call has.
void CheckRows(const ArgName& name, int64_t rows);

}  // namespace repdl
