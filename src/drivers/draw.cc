// SPDX-License-Identifier: MIT
#include "drivers/draw.h"

#include "base/check.h"

namespace repdl {

void CheckDrawOffset(std::string_view op, int64_t offset, int64_t count) {
  constexpr int64_t kEnd = int64_t{1} << 58;  // their words end at 2^64
  REPDL_CHECK(offset >= 0 && offset <= kEnd && count <= kEnd - offset, ArgName{op, "offset"},
              " must be an index of which the last element's stays below 2^58, got ", offset);
}

}  // namespace repdl
