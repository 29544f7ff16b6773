// SPDX-License-Identifier: MIT
#include "drivers/boxes.h"

namespace repdl {

void CheckBoxes(const ArgName& name, const TensorView& boxes, const TensorView& like, std::string_view shape) {
  CheckFloat(name, boxes, like);
  CheckRank(name, boxes, 2, 2, shape);
  REPDL_CHECK(boxes.shape[1] == 4, name, " of shape ", Name(boxes.shape), " must have 4 coordinates a box");
}

void CheckImageOfEach(const ArgName& name, const TensorView& indices, int64_t boxes, const TensorView& like) {
  CheckDType(name, indices, DType::kInt64);
  CheckSameDevice(name, indices, like);
  CheckShape(name, indices, {boxes});
}

}  // namespace repdl
