// SPDX-License-Identifier: MIT
// Boxes (x1, y1, x2, y2) in the images of a batch.
#pragma once

#include "base/check.h"

namespace repdl {

/// An error unless it is a tensor of boxes, `shape` in words, of the type and device of `like`.
void CheckBoxes(const ArgName& name, const TensorView& boxes, const TensorView& like, std::string_view shape);

/// An error unless it has int64 indices for so many boxes.
void CheckImageOfEach(const ArgName& name, const TensorView& indices, int64_t boxes, const TensorView& like);

}  // namespace repdl
