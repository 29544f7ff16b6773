// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/philox.h"

namespace repdl {

/// What an element that is drawn by parameters of its own may take: blocks of Philox4x32-10.
inline constexpr int kDrawAttempts = 16;

/// Throws unless `count` elements with so many blocks each can be numbered from `offset` on.
void CheckDrawOffset(std::string_view op, int64_t offset, int64_t count);

/// Elements drawn by parameters, which are the operands of the map.
struct DrawArgs {
  MapArgs map;
  PhiloxStream stream;
};

}  // namespace repdl
