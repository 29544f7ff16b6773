// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/tensor.h"

namespace repdl {

/// A number for each of some dimensions, or one that stands for all.
class PerAxis : public IntList {
 public:
  using IntList::IntList;
  explicit PerAxis(const IntList& list) : IntList(list) {}
  PerAxis(IntPair pair) : IntList({pair.h, pair.w}) {}

  int64_t At(int axis) const { return (*this)[size() == 1 ? 0 : axis]; }
};

}  // namespace repdl
